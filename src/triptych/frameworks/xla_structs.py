"""Structures of XLA's foreign function interface and of our own call programs, as native code reads them.

What is here of XLA are the fields that the handler reads; a test compares their places with XLA's own header.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_int64, c_size_t, c_void_p
from typing import Any

_HEAD: list[Any] = [("struct_size", c_size_t), ("extension_start", c_void_p)]


class ApiVersion(ctypes.Structure):
    """`XLA_FFI_Api_Version`"""

    _fields_ = [*_HEAD, ("major_version", c_int32), ("minor_version", c_int32)]


class Api(ctypes.Structure):
    """`XLA_FFI_Api`, up to the function that makes errors."""

    _fields_ = [
        *_HEAD,
        ("api_version", ApiVersion),
        ("internal_api", c_void_p),
        ("XLA_FFI_Error_Create", c_void_p),
    ]


class ErrorCreateArgs(ctypes.Structure):
    """`XLA_FFI_Error_Create_Args`"""

    _fields_ = [*_HEAD, ("message", c_void_p), ("errc", c_int32)]


class Buffer(ctypes.Structure):
    """`XLA_FFI_Buffer`"""

    _fields_ = [*_HEAD, ("dtype", c_int32), ("data", c_void_p), ("rank", c_int64), ("dims", c_void_p)]


class ByteSpan(ctypes.Structure):
    """`XLA_FFI_ByteSpan`"""

    _fields_ = [("ptr", c_void_p), ("len", c_size_t)]


class Args(ctypes.Structure):
    """`XLA_FFI_Args`"""

    _fields_ = [*_HEAD, ("size", c_int64), ("types", c_void_p), ("args", c_void_p)]


class Rets(ctypes.Structure):
    """`XLA_FFI_Rets`"""

    _fields_ = [*_HEAD, ("size", c_int64), ("types", c_void_p), ("rets", c_void_p)]


class Attrs(ctypes.Structure):
    """`XLA_FFI_Attrs`"""

    _fields_ = [*_HEAD, ("size", c_int64), ("types", c_void_p), ("names", c_void_p), ("attrs", c_void_p)]


class CallFrame(ctypes.Structure):
    """`XLA_FFI_CallFrame`, up to the attributes."""

    _fields_ = [
        *_HEAD,
        ("api", c_void_p),
        ("ctx", c_void_p),
        ("stage", c_int32),
        ("args", Args),
        ("rets", Rets),
        ("attrs", Attrs),
    ]


class ExtensionBase(ctypes.Structure):
    """`XLA_FFI_Extension_Base`"""

    _fields_ = [("struct_size", c_size_t), ("type", c_int32), ("next", c_void_p)]


class MetadataExtension(ctypes.Structure):
    """`XLA_FFI_Metadata_Extension`"""

    _fields_ = [("extension_base", ExtensionBase), ("metadata", c_void_p)]


class Metadata(ctypes.Structure):
    """`XLA_FFI_Metadata`, up to the traits."""

    _fields_ = [("struct_size", c_size_t), ("api_version", ApiVersion), ("traits", c_int32)]


STRUCTURES: dict[str, type[ctypes.Structure]] = {
    "XLA_FFI_Api_Version": ApiVersion,
    "XLA_FFI_Api": Api,
    "XLA_FFI_Error_Create_Args": ErrorCreateArgs,
    "XLA_FFI_Buffer": Buffer,
    "XLA_FFI_ByteSpan": ByteSpan,
    "XLA_FFI_Args": Args,
    "XLA_FFI_Rets": Rets,
    "XLA_FFI_Attrs": Attrs,
    "XLA_FFI_CallFrame": CallFrame,
    "XLA_FFI_Extension_Base": ExtensionBase,
    "XLA_FFI_Metadata_Extension": MetadataExtension,
    "XLA_FFI_Metadata": Metadata,
}
"""By their names in the header."""

CONSTANTS = {
    "XLA_FFI_API_MAJOR": 0,
    "XLA_FFI_Extension_Metadata": 1,
    "XLA_FFI_ExecutionStage_EXECUTE": 3,
    "XLA_FFI_AttrType_STRING": 4,
    "XLA_FFI_Error_Code_INVALID_ARGUMENT": 3,
    "XLA_FFI_Error_Code_NOT_FOUND": 5,
    "XLA_FFI_Error_Code_INTERNAL": 13,
}
"""Numbers of the header by their names in it."""

ELEMENT_TYPES = {
    "PRED": "Boolean",
    "S8": "Int8",
    "S16": "Int16",
    "S32": "Int32",
    "S64": "Int64",
    "U8": "Uint8",
    "U16": "Uint16",
    "U32": "Uint32",
    "U64": "Uint64",
    "F16": "Float16",
    "F32": "Float32",
    "F64": "Float64",
    "BF16": "BFloat16",
    "F8E5M2": "Float8E5M2",
    "F8E4M3": "Float8E4M3",
    "F8E4M3FN": "Float8E4M3FN",
    "F8E4M3B11FNUZ": "Float8E4M3B11FNUZ",
    "F8E4M3FNUZ": "Float8E4M3FNUZ",
    "F8E5M2FNUZ": "Float8E5M2FNUZ",
    "F8E8M0FNU": "Float8E8M0FNU",
}
"""Our element types by the ends of XLA's names, `XLA_FFI_DataType_…`."""

ELEMENT_NUMBERS = {
    "PRED": 1,
    "S8": 2,
    "S16": 3,
    "S32": 4,
    "S64": 5,
    "U8": 6,
    "U16": 7,
    "U32": 8,
    "U64": 9,
    "F16": 10,
    "F32": 11,
    "F64": 12,
    "BF16": 16,
    "F8E5M2": 19,
    "F8E4M3": 28,
    "F8E4M3FN": 20,
    "F8E4M3B11FNUZ": 23,
    "F8E4M3FNUZ": 25,
    "F8E5M2FNUZ": 24,
    "F8E8M0FNU": 33,
}
"""XLA's numbers of them."""


class Item(ctypes.Structure):
    """How one argument of a program comes about."""

    _fields_ = [
        ("kind", c_int64),
        ("index", c_int64),
        ("tag", c_int64),
        ("payload", c_int64),
        ("rank", c_int64),
        ("order", c_void_p),
    ]


CONSTANT, INPUT, OUTPUT, NUMBER = range(4)
"""Kinds of items: a packed value; the input, or the output, of that index as a tensor, its modes in `order` (null: as
they are) if it has that rank; the only element of an input as a number."""


class CallProgram(ctypes.Structure):
    """A program that XLA calls by its text."""

    _fields_ = [
        ("next", c_void_p),
        ("text", c_void_p),
        ("size", c_int64),
        ("entry", c_void_p),
        ("count", c_int64),
        ("items", c_void_p),
        ("inputs", c_int64),
        ("outputs", c_int64),
    ]
