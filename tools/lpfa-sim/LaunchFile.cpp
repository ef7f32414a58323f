//===- LaunchFile.cpp - Launch descriptions in JSON -----------------------===//
//
// Part of lpfa, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <limits>

using namespace lpfa::sim;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using lpfa::NpyArray;
namespace json = llvm::json;

namespace {

/// Arrays of more bytes than this are taken for a mistake.
constexpr int64_t maxArrayBytes = int64_t(1) << 32;

class Reader {
public:
  Reader(StringRef path, DeviceMemory &memory) : path(path), memory(memory) {}

  Expected<LaunchFile> run();

private:
  Error error(const Twine &message) const {
    return llvm::createStringError(path + ": " + message);
  }
  Error readDimensions(const json::Object &root, StringRef key, Dim3 &to);
  Error readUnsigned(const json::Object &object, StringRef key,
                     const Twine &where, uint32_t &to);
  Expected<Parameter> readParameter(const json::Value &value,
                                    const Twine &where);
  Expected<Parameter> readField(const json::Value &value, const Twine &where);
  Expected<Parameter> readBytes(StringRef hex, const json::Object &object,
                                const Twine &where);
  Expected<Parameter> readScalar(const json::Object &object,
                                 const Twine &where);
  Expected<Parameter> readTensorMap(const json::Object &object,
                                    const Twine &where);
  template <typename Array>
  Error readList(const json::Object &object, StringRef key, const Twine &where,
                 unsigned count, Array &to, bool optional = false);
  Error checkKeys(const json::Object &object, const Twine &where,
                  llvm::ArrayRef<StringRef> known) const;
  Expected<unsigned> findBuffer(const json::Object &reference,
                                const Twine &where);
  Error describe(const json::Object &spec, const Twine &where,
                 LaunchFile::Buffer &buffer);

  StringRef path;
  DeviceMemory &memory;
  LaunchFile file;
  const json::Object *declared = nullptr;
  llvm::StringMap<unsigned> numbers;
};

/// NumPy's "<f4" or "float32".
bool parseDtype(StringRef name, char &kind, unsigned &size) {
  name.consume_front("<");
  name.consume_front("|");
  struct {
    StringRef name;
    char kind;
    unsigned size;
  } names[] = {{"bool", 'b', 1},    {"uint8", 'u', 1},   {"uint16", 'u', 2},
               {"uint32", 'u', 4},  {"uint64", 'u', 8},  {"int8", 'i', 1},
               {"int16", 'i', 2},   {"int32", 'i', 4},   {"int64", 'i', 8},
               {"float16", 'f', 2}, {"float32", 'f', 4}, {"float64", 'f', 8}};
  for (const auto &n : names)
    if (n.name == name) {
      kind = n.kind;
      size = n.size;
      return true;
    }
  if (name.size() < 2 || !StringRef("biufV").contains(name[0]) ||
      name.drop_front().getAsInteger(10, size) || !size || size > 16)
    return false;
  kind = name[0];
  return true;
}

} // namespace

Error Reader::checkKeys(const json::Object &object, const Twine &where,
                        llvm::ArrayRef<StringRef> known) const {
  for (const auto &member : object)
    if (!llvm::is_contained(known, StringRef(member.first)))
      return error(where + ": unknown member '" + StringRef(member.first) +
                   "'");
  return Error::success();
}

Error Reader::readUnsigned(const json::Object &object, StringRef key,
                           const Twine &where, uint32_t &to) {
  const json::Value *value = object.get(key);
  if (!value)
    return Error::success();
  std::optional<int64_t> number = value->getAsInteger();
  if (!number || *number < 0 || *number > std::numeric_limits<uint32_t>::max())
    return error(where + "'" + key + "' is no number from 0 to 2^32-1");
  to = *number;
  return Error::success();
}

Error Reader::readDimensions(const json::Object &root, StringRef key,
                             Dim3 &to) {
  const json::Value *value = root.get(key);
  if (!value)
    return Error::success();
  uint32_t d[3] = {1, 1, 1};
  const json::Array *list = value->getAsArray();
  auto bad = [&] {
    return error("'" + key + "' is no list of one to three positive numbers");
  };
  if (!list || list->empty() || list->size() > 3)
    return bad();
  for (unsigned i = 0; i != list->size(); ++i) {
    std::optional<int64_t> number = (*list)[i].getAsInteger();
    if (!number || *number < 0 || *number > std::numeric_limits<int32_t>::max())
      return bad();
    d[i] = *number;
  }
  to = {d[0], d[1], d[2]};
  return Error::success();
}

template <typename Array>
Error Reader::readList(const json::Object &object, StringRef key,
                       const Twine &where, unsigned count, Array &to,
                       bool optional) {
  const json::Value *value = object.get(key);
  if (!value && optional)
    return Error::success();
  const json::Array *list = value ? value->getAsArray() : nullptr;
  if (!list || list->size() != count)
    return error(where + ": '" + key + "' must be a list of " + Twine(count) +
                 " numbers");
  for (unsigned i = 0; i != count; ++i) {
    std::optional<uint64_t> number = (*list)[i].getAsUINT64();
    if (!number ||
        *number > std::numeric_limits<typename Array::value_type>::max())
      return error(where + ": '" + key +
                   "' holds something that is no number "
                   "in range");
    to[i] = *number;
  }
  return Error::success();
}

/// Fills in the array: from a file, or of a shape and undefined.
Error Reader::describe(const json::Object &spec, const Twine &where,
                       LaunchFile::Buffer &buffer) {
  buffer.isOutput = spec.getBoolean("out").value_or(false);
  const json::Array *shape = spec.getArray("shape");
  std::optional<StringRef> dtype = spec.getString("dtype");
  bool isFresh = shape || dtype;
  if (isFresh) {
    if (!shape || !dtype)
      return error(where + ": 'shape' and 'dtype' go together");
    if (!parseDtype(*dtype, buffer.array.kind, buffer.array.itemSize))
      return error(where + ": unknown dtype '" + *dtype + "'");
    int64_t bytes = buffer.array.itemSize;
    for (const json::Value &d : *shape) {
      std::optional<int64_t> n = d.getAsInteger();
      if (!n || *n < 0)
        return error(where + ": 'shape' holds something that is no size");
      if (*n && bytes > maxArrayBytes / *n)
        return error(where + ": the array is too large");
      bytes *= *n;
      buffer.array.shape.push_back(*n);
    }
    buffer.array.data.assign(bytes, 0xFF);
  } else {
    llvm::SmallString<128> filename;
    if (llvm::sys::path::is_relative(buffer.name))
      filename = llvm::sys::path::parent_path(path);
    llvm::sys::path::append(filename, buffer.name);
    std::string what;
    if (!readNpy(std::string(filename), buffer.array, what))
      return llvm::createStringError(what);
  }
  if (buffer.isOutput) {
    buffer.output = llvm::sys::path::stem(buffer.name).str();
    for (const LaunchFile::Buffer &other : file.buffers)
      if (other.isOutput && other.output == buffer.output)
        return error(where + ": two results would be written to '" +
                     buffer.output + ".npy'");
  }
  return Error::success();
}

/// The number of the buffer that a parameter names, read when first named.
Expected<unsigned> Reader::findBuffer(const json::Object &reference,
                                      const Twine &where) {
  std::optional<StringRef> name = reference.getString("buffer");
  if (!name)
    return error(where + ": 'buffer' must name a buffer");
  auto it = numbers.find(*name);
  if (it != numbers.end())
    return it->second;
  LaunchFile::Buffer buffer;
  buffer.name = name->str();
  const json::Object *spec = declared ? declared->getObject(*name) : nullptr;
  if (spec)
    if (Error e = checkKeys(*spec, "buffer '" + *name + "'",
                            {"out", "shape", "dtype", "file"}))
      return std::move(e);
  if (spec)
    if (std::optional<StringRef> f = spec->getString("file"))
      buffer.name = f->str();
  const json::Object &source = spec ? *spec : reference;
  if (Error e = describe(source, where, buffer))
    return std::move(e);
  if (spec && buffer.isOutput)
    buffer.output = llvm::sys::path::stem(*name).str();
  bool isFresh = source.get("shape");
  file.buffers.push_back(std::move(buffer));
  std::vector<uint8_t> &data = file.buffers.back().array.data;
  unsigned number =
      isFresh ? memory.addOutput(*name, data) : memory.addBuffer(*name, data);
  numbers[*name] = number;
  return number;
}

Expected<Parameter> Reader::readScalar(const json::Object &object,
                                       const Twine &where) {
  if (Error e = checkKeys(object, where, {"type", "value"}))
    return std::move(e);
  StringRef type = *object.getString("type");
  const json::Value *value = object.get("value");
  if (!value)
    return error(where + ": 'value' is missing");
  unsigned bytes = llvm::StringSwitch<unsigned>(type)
                       .Cases({"u8", "s8", "b8"}, 1)
                       .Cases({"u16", "s16", "b16"}, 2)
                       .Cases({"u32", "s32", "b32", "f32"}, 4)
                       .Cases({"u64", "s64", "b64", "f64"}, 8)
                       .Default(0);
  if (!bytes)
    return error(where + ": unknown type '" + type + "'");
  uint64_t bits = 0;
  if (type.starts_with("f")) {
    std::optional<double> number = value->getAsNumber();
    if (std::optional<StringRef> text = value->getAsString()) {
      if (*text == "inf" || *text == "-inf")
        number = *text == "inf" ? HUGE_VAL : -HUGE_VAL;
      else if (*text == "nan")
        number = NAN;
    }
    if (!number)
      return error(where + ": 'value' is no number");
    bits = bytes == 4 ? llvm::bit_cast<uint32_t>(float(*number))
                      : llvm::bit_cast<uint64_t>(*number);
  } else {
    std::optional<int64_t> number = value->getAsInteger();
    bool ok = true;
    if (std::optional<uint64_t> u = value->getAsUINT64())
      bits = *u;
    else if (number)
      bits = *number;
    else if (std::optional<StringRef> text = value->getAsString())
      ok = !text->getAsInteger(0, bits);
    else
      ok = false;
    int64_t high = int64_t(bits) >> (8 * bytes - 1);
    if (!ok || (bytes < 8 && high != 0 && high != -1 && high != 1))
      return error(where + ": 'value' is no " + type);
  }
  llvm::SmallVector<uint8_t, 8> data(bytes);
  std::memcpy(data.data(), &bits, bytes);
  return Parameter::raw(data);
}

Expected<Parameter> Reader::readTensorMap(const json::Object &object,
                                          const Twine &where) {
  if (Error e =
          checkKeys(object, where,
                    {"buffer", "out", "shape", "dtype", "element", "dims",
                     "strides", "box", "element_strides", "swizzle", "fill",
                     "interleave", "l2_promotion", "byte_offset"}))
    return std::move(e);
  Expected<unsigned> buffer = findBuffer(object, where);
  if (!buffer)
    return buffer.takeError();
  TensorMap map;
  StringRef elementName = object.getString("element").value_or("");
  std::optional<TensorMapElement> element = parseTensorMapElement(elementName);
  if (!element)
    return error(where + ": unknown element type '" + elementName + "'");
  map.element = *element;
  StringRef swizzleName = object.getString("swizzle").value_or("none");
  std::optional<TensorMapSwizzle> swizzle = parseTensorMapSwizzle(swizzleName);
  if (!swizzle)
    return error(where + ": unknown swizzle '" + swizzleName + "'");
  map.swizzle = *swizzle;
  StringRef fill = object.getString("fill").value_or("zero");
  if (fill != "zero" && fill != "nan")
    return error(where + ": 'fill' is neither \"zero\" nor \"nan\"");
  map.fill = fill == "nan" ? TensorMapFill::NaN : TensorMapFill::Zero;
  if (StringRef i = object.getString("interleave").value_or("none");
      i != "none")
    return error(where + ": interleave '" + i + "' is not supported");
  const json::Array *dims = object.getArray("dims");
  if (!dims || dims->empty() || dims->size() > TensorMap::maxRank)
    return error(where + ": 'dims' must be a list of one to five numbers");
  map.rank = dims->size();
  if (Error e = readList(object, "dims", where, map.rank, map.dims))
    return std::move(e);
  if (Error e = readList(object, "box", where, map.rank, map.box))
    return std::move(e);
  if (Error e = readList(object, "element_strides", where, map.rank,
                         map.elementStrides, /*optional=*/true))
    return std::move(e);
  if (map.rank > 1)
    if (Error e = readList(object, "strides", where, map.rank - 1, map.strides))
      return std::move(e);
  int64_t offset = object.getInteger("byte_offset").value_or(0);
  return Parameter::tensorMap(*buffer, map, offset);
}

/// A structure: its bytes, with addresses and tensor maps put into them.
Expected<Parameter> Reader::readBytes(StringRef hex, const json::Object &object,
                                      const Twine &where) {
  std::string bytes;
  if (!llvm::tryGetFromHex(hex, bytes))
    return error(where + ": 'bytes' is no hexadecimal string");
  Parameter parameter = Parameter::raw(llvm::arrayRefFromStringRef(bytes));
  const json::Array *fields = object.getArray("fields");
  if (object.get("fields") && !fields)
    return error(where + ": 'fields' is no list");
  if (fields)
    for (unsigned i = 0; i != fields->size(); ++i) {
      Expected<Parameter> field =
          readField((*fields)[i], where + ", field " + Twine(i));
      if (!field)
        return field.takeError();
      parameter.fields.push_back(std::move(*field));
    }
  return parameter;
}

Expected<Parameter> Reader::readField(const json::Value &value,
                                      const Twine &where) {
  json::Value rest = value;
  json::Object *object = rest.getAsObject();
  if (!object)
    return error(where + " is no object");
  if (object->get("bytes"))
    return error(where + ": 'bytes' inside 'bytes'");
  if (!object->get("offset"))
    return error(where + ": 'offset' is missing");
  uint32_t offset = 0;
  if (Error e = readUnsigned(*object, "offset", where + ": ", offset))
    return std::move(e);
  object->erase("offset");
  Expected<Parameter> field = readParameter(rest, where);
  if (field)
    field->offset = offset;
  return field;
}

Expected<Parameter> Reader::readParameter(const json::Value &value,
                                          const Twine &where) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return error(where + " is no object");
  if (const json::Object *map = object->getObject("tensor_map")) {
    if (Error e = checkKeys(*object, where, {"tensor_map"}))
      return std::move(e);
    return readTensorMap(*map, where);
  }
  if (object->get("buffer")) {
    if (Error e = checkKeys(*object, where,
                            {"buffer", "out", "shape", "dtype", "byte_offset"}))
      return std::move(e);
    Expected<unsigned> buffer = findBuffer(*object, where);
    if (!buffer)
      return buffer.takeError();
    return Parameter::buffer(*buffer,
                             object->getInteger("byte_offset").value_or(0));
  }
  if (std::optional<StringRef> hex = object->getString("bytes")) {
    if (Error e = checkKeys(*object, where, {"bytes", "fields"}))
      return std::move(e);
    return readBytes(*hex, *object, where);
  }
  if (object->getString("type"))
    return readScalar(*object, where);
  return error(where +
               ": expected 'buffer', 'tensor_map', 'bytes', or 'type' and "
               "'value'");
}

Expected<LaunchFile> Reader::run() {
  auto text = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!text)
    return error(text.getError().message());
  Expected<json::Value> parsed = json::parse((*text)->getBuffer());
  if (!parsed)
    return error(llvm::toString(parsed.takeError()));
  const json::Object *root = parsed->getAsObject();
  if (!root)
    return error("the launch file holds no object");
  if (Error e = checkKeys(*root, "launch",
                          {"entry", "grid", "cluster", "block", "registers",
                           "dynamic_shared_bytes", "parameters", "buffers"}))
    return std::move(e);
  std::optional<StringRef> entry = root->getString("entry");
  if (!entry)
    return error("'entry' must name the kernel");
  file.launch.entry = entry->str();
  declared = root->getObject("buffers");
  for (auto [key, to] :
       {std::pair<StringRef, Dim3 *>{"grid", &file.launch.grid},
        {"cluster", &file.launch.cluster},
        {"block", &file.launch.block}})
    if (Error e = readDimensions(*root, key, *to))
      return std::move(e);
  if (Error e = readUnsigned(*root, "dynamic_shared_bytes", "",
                             file.launch.dynamicSharedBytes))
    return std::move(e);
  uint32_t registers = 0;
  if (Error e = readUnsigned(*root, "registers", "", registers))
    return std::move(e);
  file.launch.registers = registers;
  const json::Array *parameters = root->getArray("parameters");
  if (root->get("parameters") && !parameters)
    return error("'parameters' is no list");
  if (parameters)
    for (unsigned i = 0; i != parameters->size(); ++i) {
      Expected<Parameter> parameter =
          readParameter((*parameters)[i], "parameter " + Twine(i));
      if (!parameter)
        return parameter.takeError();
      file.launch.parameters.push_back(std::move(*parameter));
    }
  return std::move(file);
}

Expected<LaunchFile> LaunchFile::read(StringRef path, DeviceMemory &memory) {
  return Reader(path, memory).run();
}
