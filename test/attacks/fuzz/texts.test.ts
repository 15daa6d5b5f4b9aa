import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { apiKeyText, readApiKey, readBasic } from '#access/secret-text'
import { EventsQuery } from '#api/events'
import { cursorField, cursorOf, ListQuery, nameOfCursor } from '#api/fields'
import { isOpen, nextTime } from '#firmware/schedule'
import { parseQuery } from '#http/request-head'
import { FirmwareVersion } from '#model/identifier'
import { byPrecedence, isNewer } from '#model/release'
import { CronPattern } from '#model/rollout'
import { isHookSigned } from '#routes/updates'
import { fuzzRuns } from '#test/attacks/fuzz/fuzz-runs'
import { edited, edits, oddText } from '#test/attacks/fuzz/mutation'
import { anyText } from '#test/kit/any-text'

/** Mutated texts in the small languages of requests. Invalid texts are refused with reasons, and valid ones work. */

const latin = (text: string, all: Parameters<typeof edited>[1]) => edited(Buffer.from(text), all).toString('latin1')

describe('a cron pattern', () => {
  const seeds = [
    '*/20 * * * * *',
    '0 2 * * MON',
    '30 1,2 * * *',
    '0 0 29 2 *',
    '15-45/5 9-17 1-7 */3 1#2',
    '0 0 L * 5L',
    '5 4 * JAN-MAR SUN',
  ]
  const pattern = fc.tuple(fc.constantFrom(...seeds), edits(4)).map(([text, all]) => latin(text, all))

  test('has a next time at a whole second, or none', () => {
    let found = 0
    fc.assert(
      fc.property(fc.oneof(pattern, oddText), fc.integer({ min: 0, max: 4_000_000_000_000 }), (text, after) => {
        const next = nextTime(text, after)
        if (next === undefined) return
        found++
        expect([next > after, next % 1000]).toEqual([true, 0])
        expect(nextTime(text, next - 1)).toBe(next)
        expect(isOpen({ cron: text, minutes: 1 }, next)).toBe(true)
      }),
      fuzzRuns(100),
    )
    expect(found).toBeGreaterThan(0)
  })

  test('can always be validated', () => {
    fc.assert(
      fc.property(fc.oneof(pattern, oddText), (text) => typeof CronPattern.safeParse(text).success === 'boolean'),
      fuzzRuns(100),
    )
  })
})

describe('versions of firmware', () => {
  const seeds = ['1.4.2', '0.0.1-alpha.1', '1.0.0-rc.1+build.5', '10.20.30', '9007199254740991.0.0', '1.0.0-0.a-b']
  const version = fc
    .tuple(fc.constantFrom(...seeds), edits(2))
    .map(([text, all]) => latin(text, all))
    .filter((text) => FirmwareVersion.safeParse(text).success)

  test('have a total order', () => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(Math.sign(byPrecedence(a, b))).toBe(-Math.sign(byPrecedence(b, a)) + 0)
        if (byPrecedence(a, b) <= 0 && byPrecedence(b, c) <= 0) expect(byPrecedence(a, c)).toBeLessThanOrEqual(0)
        expect(isNewer(a, b) && isNewer(b, a)).toBe(false)
        expect(isNewer(a, a)).toBe(false)
      }),
      fuzzRuns(150),
    )
  })
})

describe('queries', () => {
  const names = 'types devices services epoch offset limit cursor depth raw __proto__ constructor'.split(' ')
  const query = fc
    .array(fc.tuple(fc.constantFrom(...names), oddText), { maxLength: 5 })
    .map((fields) =>
      fields.map(([name, text]) => `${name}=${text.isWellFormed() ? encodeURIComponent(text) : '%ed%a0%80'}`).join('&'),
    )
  const mutatedQuery = fc.tuple(query, edits(3)).map(([text, all]) => latin(text, all))

  test('are parsed or refused', () => {
    fc.assert(
      fc.property(fc.oneof(query, mutatedQuery, anyText({ maxLength: 60 })), (text) => {
        const fields = parseQuery(text)
        for (const schema of [EventsQuery, ListQuery]) {
          const read = schema.safeParse(fields)
          if (read.success) expect(typeof read.data).toBe('object')
          else expect(read.error.issues.length).toBeGreaterThan(0)
        }
      }),
      fuzzRuns(250),
    )
  })

  test('with cursors give the encoded name, and mutated cursors give a name or are refused', () => {
    fc.assert(
      fc.property(oddText, edits(3), (name, all) => {
        fc.pre(name.isWellFormed())
        expect(nameOfCursor(cursorOf(name))).toBe(name)
        const cursor = latin(cursorOf(name), all)
        if (cursorField.safeParse(cursor).success) expect(typeof nameOfCursor(cursor)).toBe('string')
      }),
      fuzzRuns(150),
    )
  })
})

describe('credentials', () => {
  test('are read from API keys only in their canonical form', () => {
    const key = apiKeyText('default', '4Qm8sUx2Bw', 'A'.repeat(43))
    fc.assert(
      fc.property(edits(3), (all) => {
        const text = latin(key, all)
        const read = readApiKey(text)
        if (read)
          expect([`${read.tenant}.${read.id}`, text.split('.').length]).toEqual([
            text.slice(0, text.lastIndexOf('.')),
            3,
          ])
      }),
      fuzzRuns(300),
    )
  })

  test('are read from Basic headers only in their canonical form', () => {
    const header = `Basic ${Buffer.from('default/A:s\u00e4cret:').toString('base64')}`
    fc.assert(
      fc.property(edits(3), (all) => {
        const text = latin(header, all)
        const read = readBasic(text)
        if (!read) return
        const again = Buffer.from(`${read.name}:${read.password}`).toString('base64')
        expect(text.slice(5).trim()).toBe(again)
      }),
      fuzzRuns(300),
    )
  })

  test('of the hook are valid only for the signed time, path and body', () => {
    const [secret, path, nowS] = ['secret', '/api/v1/updates/hook/thermo', 1_760_000_000]
    const body = Buffer.from('{"event":"rollout"}')
    const signed = Buffer.concat([Buffer.from(`${nowS}.${path}.`), body])
    const header = `t=${nowS},sha256=${createHmac('sha256', secret).update(signed).digest('hex')}`
    expect(isHookSigned(header, { path, body }, secret, nowS * 1000)).toBe(true)
    fc.assert(
      fc.property(edits(2), edits(2), (ofHeader, ofBody) => {
        const [text, bytes] = [latin(header, ofHeader), edited(body, ofBody)]
        // The server ignores space around fields, the case of hex digits, and unknown fields.
        const fields = text.split(',').map((field) => field.trim().toLowerCase())
        fc.pre(!header.split(',').every((field) => fields.includes(field)) || !bytes.equals(body))
        expect(isHookSigned(text, { path, body: bytes }, secret, nowS * 1000)).toBe(false)
      }),
      fuzzRuns(300),
    )
  })
})
