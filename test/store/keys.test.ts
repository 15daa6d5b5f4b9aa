import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addressOf, below, keys, numberOf, ordered, partNameOf, tenantPrefixes } from '#store/keys'

/** Names as ours are: anything printable but the separator. */
const name = fc.stringMatching(/^[!-.0-~]{1,20}$/)
const address = fc.record({
  kind: fc.stringMatching(/^[a-z]{1,8}$/),
  tenant: fc.stringMatching(/^[a-z0-9-]{1,12}$/),
  id: name,
})
const offset = fc.maxSafeNat()

test('the keys on the page, to the letter: they are on disk', () => {
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
    shape: 'shape/x_-1',
    epoch: 'epoch/00000000000001',
  })
})

describe('keys say what they are made of', () => {
  test('numbers', () => {
    fc.assert(
      fc.property(offset, (number) => {
        expect(numberOf(keys.chunk('t', number))).toBe(number)
        expect(numberOf(keys.tell(number))).toBe(number)
        expect(numberOf(keys.epoch(number))).toBe(number)
      }),
    )
  })

  test('addresses', () => {
    fc.assert(
      fc.property(address, name, (who, part) => {
        expect(addressOf(keys.reminder(who))).toEqual(who)
        expect(addressOf(keys.part(who, part))).toEqual(who)
      }),
    )
  })

  test('names of parts, also with separators', () => {
    fc.assert(
      fc.property(address, fc.array(name, { minLength: 1, maxLength: 3 }), (who, parts) => {
        expect(partNameOf(keys.part(who, parts.join('/')))).toBe(parts.join('/'))
      }),
    )
  })
})

const byBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))

describe('the order of keys', () => {
  test('is that of their numbers', () => {
    fc.assert(
      fc.property(offset, offset, (one, other) => {
        expect(ordered(one)).toHaveLength(14)
        expect(Math.sign(byBytes(keys.chunk('t', one), keys.chunk('t', other)))).toBe(Math.sign(one - other))
      }),
    )
  })

  test('keeps what is below one prefix together, and away from other prefixes', () => {
    const tenant = fc.stringMatching(/^[a-z0-9-]{1,6}$/)
    fc.assert(
      fc.property(tenant, tenant, offset, (mine, other, number) => {
        const { after, before } = below(`stream/${mine}`)
        const isInside = (key: string) => byBytes(after, key) < 0 && byBytes(key, before) < 0
        expect(isInside(keys.chunk(mine, number))).toBe(true)
        expect(isInside(keys.chunk(other, number))).toBe(mine === other)
      }),
    )
  })

  test('has all of a tenant but its stream below its prefixes, once, and nothing of another', () => {
    const tenant = fc.constantFrom('a', 'a-', 'a-1', 'a1', 'b', 'device')
    const kind = fc.constantFrom('device', 'devices', 'tenant')
    fc.assert(
      fc.property(tenant, tenant, kind, name, name, (mine, whose, kind, id, part) => {
        const who = { kind, tenant: whose, id }
        const prefixes = tenantPrefixes(mine, ['device', 'devices', 'tenant'], ['device', 'service'])
        for (const key of [
          keys.snapshot(who),
          keys.part(who, part),
          keys.reminder(who),
          keys.index(whose, 'service', `${part}/${id}`),
          keys.index(whose, 'device', id),
        ]) {
          const inside = prefixes
            .map(below)
            .filter(({ after, before }) => byBytes(after, key) < 0 && byBytes(key, before) < 0)
          expect(inside).toHaveLength(mine === whose ? 1 : 0)
        }
        for (const key of [keys.redo(whose), keys.chunk(whose, 1), keys.shape(whose)]) {
          expect(prefixes.some((prefix) => key.startsWith(prefix))).toBe(false)
        }
      }),
    )
  })

  test('never mixes kinds of records', () => {
    const all = fc.oneof(
      address.map((who) => keys.snapshot(who)),
      fc.tuple(address, name).map(([who, part]) => keys.part(who, part)),
      address.map((who) => keys.reminder(who)),
      offset.map((number) => keys.tell(number)),
      fc.tuple(fc.stringMatching(/^[a-z0-9-]{1,12}$/), offset).map(([tenant, number]) => keys.chunk(tenant, number)),
      offset.map((number) => keys.epoch(number)),
      name.map((id) => keys.shape(id)),
    )
    const prefixes = ['actor', 'part', 'reminder', 'tell', 'stream', 'redo', 'shape', 'epoch', 'index']
    fc.assert(
      fc.property(all, (key) => {
        const inside = prefixes.filter((prefix) => {
          const { after, before } = below(prefix)
          return byBytes(after, key) < 0 && byBytes(key, before) < 0
        })
        expect(inside).toEqual([key.split('/')[0]])
      }),
    )
  })
})
