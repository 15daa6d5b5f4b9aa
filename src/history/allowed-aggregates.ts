import type { AggregateName } from '#model/aggregate'

const numericTypes: ReadonlySet<string> = new Set([
  ...['uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64', 'float', 'float64'],
])
const aggregatesOfAll: readonly AggregateName[] = ['first', 'last', 'count']
const defaultOfNumbers: readonly AggregateName[] = ['min', 'avg', 'max']
const defaultOfOthers: readonly AggregateName[] = ['last']

/** `type`: its lower-case name. */
export function isNumeric(type: string): boolean {
  return numericTypes.has(type)
}

export function defaultAggregates(type: string): readonly AggregateName[] {
  return isNumeric(type) ? defaultOfNumbers : defaultOfOthers
}

export function hasAggregate(
  { type, isEnum }: { readonly type: string; readonly isEnum?: boolean },
  name: AggregateName,
): boolean {
  if (aggregatesOfAll.includes(name)) return true
  return name === 'duration' ? type === 'bool' || isEnum === true : isNumeric(type)
}
