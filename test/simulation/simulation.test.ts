import { describe, expect, test } from 'vitest'
import { run } from '#test/simulation/run'

/** Seeds of every run of the tests. `SEED=7` runs that one alone. */
const seeds = 300
const perTest = 25
const { SEED } = process.env

/** What must come to pass often enough that something is found by it. */
const tried = [
  'signed in',
  'refused to sign in',
  'refused after the session',
  'closed 4401',
  'told to read anew',
  'recovered, as it must',
  'not recovered',
  'doubted',
  'compared',
  'written',
  'written, two',
  'answered the same',
  'answered when asked again',
  'alarm active',
  'alarm inactive',
  'alarms compared',
  'heard ALARM_CONFIG_UPDATE',
  'actions seen running',
  'action OK',
  'action REJECTED',
  'action DEVICE_OFFLINE',
  'action DEVICE_TIMEOUT',
  'action NOT_FOUND',
  'action INVALID',
  'release made',
  'firmware offered by post',
  'firmware offered by hook',
  'firmware offered by connect',
  'firmware offered by cron',
  'firmware offered again, or an older one',
  'update STARTED',
  'update DEVICE_OFFLINE',
  'update DEVICE_NOT_OK',
  'update NO_UPDATE',
  'rolled out',
  'chosen compared',
  'update statuses compared',
  'updates compared',
  'heard UPDATE_STATUS',
  'mail',
  'digest',
  'mail refused: later',
  'mail refused: recipient',
  'mail refused: transport',
  'root is told',
  'told as it must be',
  'told as a number',
  'a note in a mail',
  'subscribe 409',
  'subscribe forbidden',
  'unsubscribeByLink 204',
  'topics compared',
  'notifications compared',
  'heard NOTIFICATION_SUBSCRIBE',
  'heard NOTIFICATION_SUBSCRIPTION_UPDATE',
  'heard NOTIFICATION_UNSUBSCRIBE',
]

describe.skipIf(SEED !== undefined)('the whole server, simulated from a seed', () => {
  const sums = new Map<string, number>()
  for (let first = 1; first <= seeds; first += perTest) {
    test(`seeds ${first} to ${first + perTest - 1}`, { timeout: 120_000 }, async () => {
      for (let seed = first; seed < first + perTest; seed++) {
        const { acknowledged, counts } = await run(seed)
        for (const [what, count] of Object.entries({ ...counts, acknowledged })) {
          sums.set(what, (sums.get(what) ?? 0) + count)
        }
      }
    })
  }

  test('all of it came to pass', () => {
    for (const what of [...tried, 'acknowledged']) expect(sums.get(what) ?? 0, what).toBeGreaterThan(seeds / 100)
  })

  test('the same seed is the same run', { timeout: 30_000 }, async () => {
    expect(await run(7)).toEqual(await run(7))
  })
})

test.runIf(SEED !== undefined)(`seed ${SEED}`, async () => {
  expect((await run(Number(SEED))).acknowledged).toBeGreaterThan(0)
})
