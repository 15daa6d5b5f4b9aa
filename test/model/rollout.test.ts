import { describe, expect, test } from 'vitest'
import { FirmwareInformation } from '#model/firmware'
import { ReleaseEntry, releaseEntryOf, releaseName, type StoredRelease } from '#model/release'
import { CronPattern, RolloutBody, RolloutEntry, rolloutEntryOf, type StoredRollout } from '#model/rollout'

const release: StoredRelease = {
  firmware: '1.2.3',
  hardware: 'revA',
  index: 3,
  sha256: 'ab'.repeat(32),
  size: 65_536,
  createdAt: 1_763_700_000_000,
  createdBy: 'crn#user:2Vb7qYx9Kd',
}

test('a release is shown with its hardware, if it has one', () => {
  expect(ReleaseEntry.parse(releaseEntryOf(release))).toEqual(release)
  const { hardware: _, ...forAny } = release
  expect(releaseEntryOf({ ...release, hardware: null })).toEqual(forAny)
})

test('each release of a project has its own name', () => {
  const names = [null, '-', 'a', '0'].flatMap((hardware) =>
    [0, 1, 10].flatMap((index) =>
      ['1.0.0', '1.0.0-0', '1.0.0+0'].map((firmware) => releaseName({ firmware, hardware, index })),
    ),
  )
  expect(new Set(names).size).toBe(36)
  expect(names[0]).toBe('0//1.0.0')
})

describe('a rollout', () => {
  const body = { firmware: '2.0.0', percent: 12.5 }
  const window = { cron: '0 2 * * MON-FRI', minutes: 90 }

  test.each([
    body,
    { ...body, percent: 0 },
    { ...body, percent: 100, groups: [], errorThresholdPercent: 0, window, maxAttempts: 1 },
    { ...body, groups: ['5Kd9tVw3Cx'], errorThresholdPercent: 100, maxAttempts: 100 },
  ])('%j is valid', (good) => {
    expect(RolloutBody.parse(good)).toEqual(good)
  })

  test.each([
    {},
    { firmware: '2.0.0' },
    { percent: 5 },
    { ...body, firmware: 'latest' },
    { ...body, percent: 100.1 },
    { ...body, percent: '5' },
    { ...body, groups: ['no group'] },
    { ...body, errorThresholdPercent: -1 },
    { ...body, maxAttempts: 0 },
    { ...body, maxAttempts: 1.5 },
    { ...body, window: { cron: '0 2 * * *' } },
    { ...body, window: { ...window, minutes: 0 } },
    { ...body, window: { ...window, minutes: 10_081 } },
    { ...body, window: { ...window, zone: 'CET' } },
    { ...body, state: 'paused' },
  ])('%j is refused', (bad) => {
    expect(RolloutBody.safeParse(bad).success).toBe(false)
  })

  test('is shown with its state and counts, without internal fields', () => {
    const times = { createdBy: 'crn#user:2Vb7qYx9Kd', createdAt: 1, updatedBy: 'crn#key:4Qm8sUx2Bw', updatedAt: 2 }
    const countedFrom = { finished: 3, failed: 1 }
    const stored: StoredRollout = { id: 'R', body: { ...body, window }, state: 'stopped', countedFrom, ...times }
    const counts = { chosen: 9, running: 1, done: 2, failed: 1, refused: 0 }
    const shown = rolloutEntryOf(stored, counts)
    expect(shown).toEqual({ ...body, window, state: 'stopped', counts, ...times })
    expect(RolloutEntry.parse(shown)).toEqual(shown)
  })
})

test.each([...['* * * * *', '*/5 0-6,20 1 JAN,MAR MON#2', '30 0 2 ? * 1-5', '0 0 L * *', '* * * * * *']])(
  '%s is a valid window',
  (text) => {
    expect(CronPattern.safeParse(text).success).toBe(true)
  },
)

test.each([
  ...['', '* * * *', '* * * * * * *', '@daily', ' * * * * *', '* * * * * ', '*  * * * *', '*\t* * * *'],
  ...['0 2 * * MON\n', '2026-11-21T00:00:00', `${'1,'.repeat(130)}1 * * * *`],
])('%j is not a valid window', (text) => {
  expect(CronPattern.safeParse(text).success).toBe(false)
})

test('the update of a device without a project shows that, and its available version only on request', () => {
  const known = { deviceIdentifier: 'A', project: null }
  const firmware = { firmware: '1.0.0', index: 0, updateAvailable: true }
  const update = { status: 'DOWNLOADING', firmware: '1.1.0', progress: 20, at: 5 }
  for (const firmwares of [[], [firmware], [{ ...firmware, hardware: 'revA', update }]]) {
    expect(FirmwareInformation.parse({ ...known, firmwares })).toEqual({ ...known, firmwares })
  }
  expect(FirmwareInformation.parse(known)).toEqual(known)
  expect(FirmwareInformation.safeParse({ ...known, firmwares: [{ ...firmware, update: {} }] }).success).toBe(false)
  expect(FirmwareInformation.safeParse({ deviceIdentifier: 'A' }).success).toBe(false)
})
