import type { StoredUpdate } from '#actors/update/state'
import { at } from '#test/store/sample-records/entries'

const sha256 = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'

type Context = StoredUpdate['context']

/** The fields in their stored order, as of an update that has only begun. */
const begun: Context = {
  ...{ id: '', by: 'post', project: 'boiler', index: 0, from: '1.0.0', offer: null, rest: [], session: 's' },
  ...{ progress: null, message: null, reason: null, outcome: null, deadline: null },
  ...{ downloadsUntil: 0, installsUntil: 0, beganAt: at, toldAt: at, toldProgress: 0, resends: 0 },
}
const started = { outcome: { status: 'STARTED' }, beganAt: at - 9_000 } as const

function updateOf(
  state: StoredUpdate['state'],
  context: Partial<Context>,
  { attempts = [], counted = null, ...more }: Partial<StoredUpdate> = {},
): StoredUpdate {
  return { machine: 2, state, context: { ...begun, ...context }, attempts, counted, ...more }
}

/** By a rollout, with a retry ahead. */
const failed = updateOf(
  'failed',
  {
    ...{ ...started, id: '7Lf2wZs6Dy', by: 'hook', index: 1, from: '1.2.3+a', rest: [2, 7], session: 's-1' },
    offer: {
      ...{ firmware: '1.3.0-rc.1', hardware: 'rev-B', index: 1, sha256, size: 268_435_456, isPinned: false, url: null },
      rollout: { id: '9Pk4vRt8Ab', maxAttempts: 5 },
    },
    ...{ message: 'Prüfsumme falsch', reason: 'device' },
    ...{ downloadsUntil: at + 86_400_000, toldProgress: 37.5, resends: 2 },
  },
  {
    attempts: [
      {
        ...{ firmware: '1.3.0-rc.1', index: 1, rollout: '9Pk4vRt8Ab', by: 'hook', count: 2 },
        ...{ nextAt: at + 600_000, doneAt: null },
      },
    ],
    counted: {
      ...{ project: 'boiler', release: { firmware: '1.3.0-rc.1', hardware: 'rev-B', index: 1 } },
      ...{ rollout: '9Pk4vRt8Ab', stage: 'failed' },
    },
  },
)

/** With its image on another server. */
const downloading = updateOf('downloading', {
  ...{ ...started, id: '8e03978e-40d5-43e8-bc93-6894a57f9324', from: '2.0.0', session: '' },
  offer: {
    ...{ firmware: '1.0.0', index: 0, sha256, size: 1, isPinned: true },
    ...{ url: 'https://images.example/1.0.0?key=ä', rollout: null },
  },
  ...{ progress: 37.5, deadline: at + 600_000, downloadsUntil: at + 86_400_000, toldProgress: 37.5 },
})

/** With attempts of two firmwares. */
const installing = updateOf(
  'installing',
  {
    ...{ ...started, id: '6Wm8cNp3Rz', by: 'cron', index: 3, from: '2.0.0', session: 's-2' },
    offer: { firmware: '2.1.0', index: 3, sha256, size: 65_536, isPinned: false, url: null, rollout: null },
    ...{ progress: 50, message: 'schreibt', deadline: at + 1_800_000, toldProgress: 50 },
    ...{ downloadsUntil: at + 80_000_000, installsUntil: at + 86_000_000 },
  },
  {
    attempts: [
      { firmware: '1.1.0', index: 0, rollout: '9Pk4vRt8Ab', by: 'hook', count: 3, nextAt: null, doneAt: at - 60_000 },
      { firmware: '2.0.5', index: 3, rollout: null, by: 'connect', count: 1, nextAt: at + 300_000, doneAt: null },
      { firmware: '2.1.0', index: 3, rollout: null, by: 'cron', count: 1, nextAt: null, doneAt: null },
    ],
    counted: {
      ...{ project: 'boiler', release: { firmware: '2.1.0', hardware: null, index: 3 } },
      ...{ rollout: null, stage: 'running' },
    },
  },
)

const checking = { id: '3Qm5xUy7Bc', project: 'p', rest: [1], deadline: at + 30_000 }
const ofSeveral = { id: '5Tn2bGh9Kd', project: 'p', index: 2, message: 'NO_UPDATE' }
const earlier: StoredUpdate['earlier'] = [
  { index: 0, at, status: 'done', firmware: '2.0.0' },
  { index: 255, at: at - 9_000, status: 'failed', firmware: '3.0.0-rc.1', message: 'zu groß' },
]

export const updateSamples: readonly (readonly [name: string, means: StoredUpdate])[] = [
  ['update-failed', failed],
  ['update-downloading', downloading],
  ['update-checking', updateOf('checking', checking)],
  ['update-of-several', updateOf('idle', { ...ofSeveral, outcome: { status: 'NO_UPDATE' } }, { earlier })],
  ['update-installing', installing],
]
