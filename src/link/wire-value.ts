import type { LinkProtocol } from '#link/codec'
import { uint32Max } from '#model/identifier'
import type { PropertyType, PropertyValue } from '#model/property-type'

/**
 * A value as a device hears it: in JSON as it is stored, in msgpack BINARY as bin, and integers of more than 32 bits
 * (INT64, UINT64, DATETIME) as 64-bit ones, which are decimal text in JSON where a double would lose digits. Contract 7.
 */
export function wireValue(protocol: LinkProtocol, { name }: PropertyType, value: PropertyValue): unknown {
  if (protocol === 'json') return value
  const form = forms[name.replace('-array', '')]
  if (!form) return value
  return typeof value === 'object' ? value.map(form) : form(value)
}

const int32Min = -(2 ** 31)

const forms: Readonly<Record<string, (value: number | string | boolean) => unknown>> = {
  binary: (value) => Buffer.from(value as string, 'base64'),
  int64: wideInteger,
  uint64: wideInteger,
  datetime: wideInteger,
}

/** The encoder writes numbers beyond 32 bits as doubles, and a bigint as 64 bits whatever it is. */
function wideInteger(value: number | string | boolean): number | bigint {
  const number = Number(value)
  return number >= int32Min && number <= uint32Max ? number : BigInt(value)
}
