import fc from 'fast-check'

/** Commands of one type with these fields; of `optional` fields, some are missing. */
export function commandOf<const Type extends string, Fields = object, Optional = object>(
  type: Type,
  fields?: { readonly [Key in keyof Fields]: fc.Arbitrary<Fields[Key]> },
  optional?: { readonly [Key in keyof Optional]: fc.Arbitrary<Optional[Key]> },
): fc.Arbitrary<{ readonly type: Type } & Fields & Partial<Optional>> {
  const required = { type: fc.constant(type), ...fields }
  const requiredKeys = Object.keys(required) as never[]
  return fc.record({ ...required, ...optional }, { requiredKeys }) as never
}

/** An arbitrary that is chosen this often, compared with others of weight 1. */
export function weighted<Value>(weight: number, arbitrary: fc.Arbitrary<Value>): fc.WeightedArbitrary<Value> {
  return { weight, arbitrary }
}
