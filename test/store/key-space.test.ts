import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addressOf, keys, keysBelow, numberOf, partNameOf, sortableHex, tenantPrefixes } from '#store/key-space'
import { forAll } from '#test/kit/for-all'

/** Names: printable characters without the separator. */
const name = fc.stringMatching(/^[!-.0-~]{1,20}$/)
const address = fc.record({
  kind: fc.stringMatching(/^[a-z]{1,8}$/),
  tenant: fc.stringMatching(/^[a-z0-9-]{1,12}$/),
  id: name,
})
const offset = fc.maxSafeNat()

test('the keys have the documented form', () => {
  const device = { kind: 'device', tenant: 'default', id: '#$A-1' }
  expect({
    format: keys.format,
    snapshot: keys.snapshot(device),
    part: keys.part(device, 'schema/a'),
    index: keys.index('default', 'service', 'svc/A-1'),
    reminder: keys.reminder(device),
    tell: keys.tell(255),
    chunk: keys.chunk('default', 2 ** 53 - 1),
    redo: keys.redo('default'),
    begin: keys.begin('default'),
    shape: keys.shape('x_-1'),
    epoch: keys.epoch(1),
  }).toEqual({
    format: 'format',
    snapshot: 'actor/device/default/#$A-1',
    part: 'part/device/default/#$A-1/schema/a',
    index: 'index/service/default/svc/A-1',
    reminder: 'reminder/device/default/#$A-1',
    tell: 'tell/000000000000ff',
    chunk: 'stream/default/1fffffffffffff',
    redo: 'redo/default',
    begin: 'begin/default',
    shape: 'shape/x_-1',
    epoch: 'epoch/00000000000001',
  })
})

describe('a key yields', () => {
  test('its number', () => {
    forAll([offset], (number) => {
      expect(numberOf(keys.chunk('t', number))).toBe(number)
      expect(numberOf(keys.tell(number))).toBe(number)
      expect(numberOf(keys.epoch(number))).toBe(number)
    })
  })

  test('its address and the name of its part, separators included', () => {
    forAll([address, fc.array(name, { minLength: 1, maxLength: 3 })], (actor, parts) => {
      const part = parts.join('/')
      expect(addressOf(keys.reminder(actor))).toEqual(actor)
      expect(addressOf(keys.part(actor, part))).toEqual(actor)
      expect(partNameOf(keys.part(actor, part))).toBe(part)
    })
  })
})

const byBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))

describe('the order of keys', () => {
  test('follows their numbers', () => {
    forAll([offset, offset], (one, other) => {
      expect(sortableHex(one)).toHaveLength(14)
      expect(Math.sign(byBytes(keys.chunk('t', one), keys.chunk('t', other)))).toBe(Math.sign(one - other))
    })
  })

  test('keeps the keys of one prefix together and apart from other prefixes', () => {
    const tenant = fc.stringMatching(/^[a-z0-9-]{1,6}$/)
    forAll([tenant, tenant, offset], (mine, other, number) => {
      const { after, before } = keysBelow(`stream/${mine}`)
      const isInside = (key: string) => byBytes(after, key) < 0 && byBytes(key, before) < 0
      expect(isInside(keys.chunk(mine, number))).toBe(true)
      expect(isInside(keys.chunk(other, number))).toBe(mine === other)
    })
  })

  test("puts a tenant's records under its prefixes, except stream, redo mark and shapes, and none of another", () => {
    const tenant = fc.constantFrom('a', 'a-', 'a-1', 'a1', 'b', 'device')
    const kind = fc.constantFrom('device', 'devices', 'tenant')
    forAll([tenant, tenant, kind, name, name], (mine, whose, kind, id, part) => {
      const actor = { kind, tenant: whose, id }
      const prefixes = tenantPrefixes(mine, ['device', 'devices', 'tenant'], ['device', 'service'])
      const indexKeys = [keys.index(whose, 'service', `${part}/${id}`), keys.index(whose, 'device', id)]
      for (const key of [keys.snapshot(actor), keys.part(actor, part), keys.reminder(actor), ...indexKeys]) {
        const inside = prefixes
          .map(keysBelow)
          .filter(({ after, before }) => byBytes(after, key) < 0 && byBytes(key, before) < 0)
        expect(inside).toHaveLength(mine === whose ? 1 : 0)
      }
      for (const key of [keys.redo(whose), keys.chunk(whose, 1), keys.shape(whose)]) {
        expect(prefixes.some((prefix) => key.startsWith(prefix))).toBe(false)
      }
    })
  })

  test('keeps the kinds of records apart', () => {
    const all = fc.oneof(
      address.map((actor) => keys.snapshot(actor)),
      fc.tuple(address, name).map(([actor, part]) => keys.part(actor, part)),
      address.map((actor) => keys.reminder(actor)),
      offset.map((number) => keys.tell(number)),
      fc.tuple(fc.stringMatching(/^[a-z0-9-]{1,12}$/), offset).map(([tenant, number]) => keys.chunk(tenant, number)),
      offset.map((number) => keys.epoch(number)),
      name.map((id) => keys.shape(id)),
    )
    const prefixes = ['actor', 'part', 'reminder', 'tell', 'stream', 'redo', 'begin', 'shape', 'epoch', 'index']
    forAll([all], (key) => {
      const inside = prefixes.filter((prefix) => {
        const { after, before } = keysBelow(prefix)
        return byBytes(after, key) < 0 && byBytes(key, before) < 0
      })
      expect(inside).toEqual([key.split('/')[0]])
    })
  })
})
