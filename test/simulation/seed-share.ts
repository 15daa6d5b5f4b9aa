import { describe, expect, test } from 'vitest'
import { run } from '#test/simulation/run'

/** The first seed and the number of seeds; `SEED=7` runs that one alone. CI runs 1 000. */
const { SEED, SEED_FROM = '1', SEEDS = '50' } = process.env
/** Files run in parallel, so that every worker has some. */
const shares = 2
const perTest = 25

/** Situations that must occur often enough for the run to prove anything. */
const tried = `
  signed in | refused to sign in | refused after the session | signed out | renewed | used refresh token tried |
  replaced access token refused | shapes deleted | token of an ended session refused | closed 4401 |
  ordered to read again | recovered, as it must | not recovered | doubted | compared | written | written, two |
  desired | answered the same | answered when asked again | alarm active | alarm inactive | alarm acknowledged |
  alarms compared | received ALARM_CONFIG_UPDATE | actions seen running | action OK | action REJECTED |
  action DEVICE_OFFLINE | action DEVICE_TIMEOUT | action NOT_FOUND | action INVALID | release made |
  firmware offered by post | firmware offered by hook | firmware offered by connect | firmware offered by cron |
  firmware offered again, or an older one | update STARTED | update DEVICE_OFFLINE | update DEVICE_NOT_OK |
  update NO_UPDATE | rolled out | rollout stopped | rollout with errors runs | chosen compared |
  update statuses compared | updates compared | received UPDATE_STATUS | mail | digest | mail refused: later |
  mail refused: recipient | mail refused: transport | root notified | notified as required | notified as a number |
  metadata in a mail | webhook | webhook failed: 500 | webhook as required | webhook of a known author |
  subscribe 409 | subscribe forbidden | unsubscribeByLink 204 | topics compared | notifications compared |
  received NOTIFICATION_SUBSCRIBE | received NOTIFICATION_SUBSCRIPTION_UPDATE | received NOTIFICATION_UNSUBSCRIBE
`

/** Defines the tests of one share of the seeds. `share`: from 1. */
export function testShare(share: number): void {
  const count = Math.ceil(Number(SEEDS) / shares)
  const first = Number(SEED_FROM) + count * (share - 1)
  const last = first + count - 1
  const sums = new Map<string, number>()

  describe.skipIf(SEED !== undefined)('the whole server, simulated from a seed', () => {
    for (let from = first; from <= last; from += perTest) {
      const to = Math.min(last, from + perTest - 1)
      test(`seeds ${from} to ${to}`, { timeout: 120_000 }, async () => {
        for (let seed = from; seed <= to; seed++) {
          const { acknowledged, counts } = await run(seed)
          for (const [what, much] of Object.entries({ ...counts, acknowledged }))
            sums.set(what, (sums.get(what) ?? 0) + much)
        }
      })
    }

    // A run of few seeds may miss rare situations.
    test.skipIf(count < 250)('each situation occurred', () => {
      for (const what of [...tried.trim().split(/\s*\|\s*/), 'acknowledged'])
        expect(sums.get(what) ?? 0, what).toBeGreaterThan(0)
    })
  })
}
