import fc from 'fast-check'
import type { JsonValue } from '#model/json-value'

/** Names of members that every object has, and ordinary names. */
export const names = ['a', 'b.c', '__proto__', 'toString', '0x2000', '0x2000.FLOAT'] as const

/** Values of every type, few enough to be equal at times. */
const scalars: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue[]>(
  ...[null, true, false, 0, 1, -1, 2, 0.5, -7.25, 255, 4_294_967_295, 1_760_000_000_000, 3.4e38, 1e308],
  ...['', '0', '1', '-1', ' 2 ', '1e3', '0x10', 'abc', 'b', 'ab', '\u2028"\\', 'AAEC', '18446744073709551615'],
  ...['9007199254740993', '-9223372036854775808', 'prev', 'await x', '9'.repeat(129)],
  'c0a80101-0000-4000-8000-000000000000',
)

const literal = fc.oneof({ weight: 5, arbitrary: scalars }, fc.double({ noNaN: true, noDefaultInfinity: true }))

const literals = fc.array(literal, { maxLength: 4 })

/** The value of a property: a literal or an array of literals. */
export const value: fc.Arbitrary<JsonValue> = fc.oneof({ weight: 4, arbitrary: literal }, literals)

const name = fc.constantFrom(...names)

const variable: fc.Arbitrary<JsonValue> = fc.oneof(
  name.map((text) => ({ var: text })),
  name.map((text) => ({ var: [text] })),
  fc.tuple(name, scalars).map(([text, fallback]) => ({ var: [text, fallback] })),
  name.map((text) => ({ missing: text })),
  fc.array(name, { minLength: 1, maxLength: 3 }).map((texts) => ({ missing: texts })),
)

/**
 * The operators with their numbers of arguments: an independent list, so that an operator added by mistake is detected.
 */
const arities: readonly (readonly [operator: string, min: number, max: number])[] = [
  ...['==', '===', '!=', '!==', '/', '%', 'in'].map((operator) => [operator, 2, 2] as const),
  ...['<', '<=', '>', '>='].map((operator) => [operator, 2, 3] as const),
  ...['!', '!!'].map((operator) => [operator, 1, 1] as const),
  ...['+', '*', 'min', 'max', 'and', 'or'].map((operator) => [operator, 1, 4] as const),
  ['-', 1, 2],
  ['if', 1, 6],
]

/** Any condition of every operator. */
export const condition: fc.Arbitrary<JsonValue> = fc.letrec<{ node: JsonValue; application: JsonValue }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 6, depthIdentifier: 'condition' },
    { weight: 2, arbitrary: literal },
    { weight: 3, arbitrary: variable },
    { weight: 6, arbitrary: tie('application') },
    { weight: 1, arbitrary: fc.array(tie('node'), { maxLength: 3, depthIdentifier: 'condition' }) },
  ),
  application: fc
    .constantFrom(...arities)
    .chain(([operator, minLength, maxLength]) =>
      fc
        .array(tie('node'), { minLength, maxLength, depthIdentifier: 'condition' })
        .map((args): JsonValue => ({ [operator]: args })),
    ),
})).application
