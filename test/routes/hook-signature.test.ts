import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { isHookSigned } from '#routes/updates'

/** Contract 6, Hook. */

const secret = 'of the update server'
const nowS = 1_790_000_000
const path = '/api/v1/updates/hook/boil%65r'
const body = Buffer.from('{"devices":["SENSOR-1"]}')

const macOf = (time: number | string, { of = path, with: key = secret, bytes = body } = {}) =>
  createHmac('sha256', key).update(`${time}.${of}.`).update(bytes).digest('hex')

const isSigned = (header: string, call = { path, body }) => isHookSigned(header, call, secret, nowS * 1000)
const mac = macOf(nowS)

test.each([
  ['in the documented form', `t=${nowS},sha256=${mac}`],
  ['in the other order', `sha256=${mac},t=${nowS}`],
  ['in capitals', `t=${nowS},sha256=${mac.toUpperCase()}`],
  ['with spaces in between', `t=${nowS}, sha256=${mac}`],
  ['with an unknown field', `t=${nowS},sha256=${mac},v=2`],
  ['of five minutes ago', `t=${nowS - 300},sha256=${macOf(nowS - 300)}`],
  ['of five minutes in the future', `t=${nowS + 300},sha256=${macOf(nowS + 300)}`],
])('a signature %s is valid', (_, header) => {
  expect(isSigned(header)).toBe(true)
})

test.each([
  ['an empty header', ''],
  ['no time', `sha256=${mac}`],
  ['no signature', `t=${nowS}`],
  ['an invalid signature', `t=${nowS},sha256=xyz`],
  ['a part of the signature', `t=${nowS},sha256=${mac.slice(0, 62)}`],
  ['additional characters', `t=${nowS},sha256=${mac}00`],
  ['the time twice', `t=${nowS},t=${nowS},sha256=${mac}`],
  ['the signature twice', `t=${nowS},sha256=${mac},sha256=${mac}`],
  ['the whole header twice', `t=${nowS},sha256=${mac}, t=${nowS},sha256=${mac}`],
  ['a name in capitals', `T=${nowS},SHA256=${mac}`],
  ['a time with a sign', `t=+${nowS},sha256=${macOf(`+${nowS}`)}`],
  ['a time with a fraction', `t=${nowS}.0,sha256=${macOf(`${nowS}.0`)}`],
  ['a time in milliseconds', `t=${nowS}000,sha256=${macOf(`${nowS}000`)}`],
  ['a time more than five minutes ago', `t=${nowS - 301},sha256=${macOf(nowS - 301)}`],
  ['a time more than five minutes in the future', `t=${nowS + 301},sha256=${macOf(nowS + 301)}`],
  ['another time than the signed one', `t=${nowS + 1},sha256=${mac}`],
  ['another secret', `t=${nowS},sha256=${macOf(nowS, { with: 'another' })}`],
  ['an empty secret', `t=${nowS},sha256=${macOf(nowS, { with: '' })}`],
  ['a signature of the decoded path', `t=${nowS},sha256=${macOf(nowS, { of: '/api/v1/updates/hook/boiler' })}`],
  ['a signature of the path with a query', `t=${nowS},sha256=${macOf(nowS, { of: `${path}?a=b` })}`],
  ['a signature without the body', `t=${nowS},sha256=${macOf(nowS, { bytes: Buffer.alloc(0) })}`],
  ['no comma', `t=${nowS} sha256=${mac}`],
])('the header is refused: %s', (_, header) => {
  expect(isSigned(header)).toBe(false)
})

test('the signature covers every byte of the body', () => {
  const other = Buffer.from('{ "devices": ["SENSOR-1"] }')
  expect(isSigned(`t=${nowS},sha256=${mac}`, { path, body: other })).toBe(false)
})
