import { expect, test } from 'vitest'
import { versionIn } from '#dashboard/components/names'
import {
  isFinalStatus,
  isSuccess,
  messageText,
  outcomeText,
  rolloutParts,
  tallyOf,
  updateText,
  withoutProject,
} from '#dashboard/pages/firmware/update-status'
import { bytesText } from '#dashboard/values/format-value'
import { type FirmwareInformation, triggerStatuses, updateStates } from '#model/firmware'

/** Compares names and texts about firmware with the model of the server. Contract 1.8, 6. */

test.each([
  ['boiler-1.5.0.bin', '1.5.0'],
  ['v2.0.1-rc.1.img', '2.0.1-rc.1'],
  ['10.0.0', '10.0.0'],
  ['firmware.bin', undefined],
  ['192.168.0.1.bin', undefined],
  ['boiler-1.5.bin', undefined],
])('the version is read from the name of a file: %s', (name, version) => {
  expect(versionIn(name)).toBe(version)
})

test.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1_500, '1.50 KB'],
  [268_435_456, '268.4 MB'],
])('%d bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text)
})

test('every device of a rollout is counted in one part of the bar', () => {
  const parts = rolloutParts({ chosen: 100, running: 4, done: 60, failed: 3, refused: 2 })
  expect(parts.map(({ count }) => count)).toEqual([60, 4, 3, 2, 31])
  // The number of chosen devices is unknown until the scan ends.
  expect(rolloutParts({ chosen: 0, running: 4, done: 1, failed: 0, refused: 0 }).map(({ count }) => count)).toEqual([
    1, 4, 0, 0, 0,
  ])
})

test('every outcome of a manual update has a text, and exactly the final states are final', () => {
  for (const status of triggerStatuses) {
    const text = outcomeText('PUMP-7', { status, message: 'battery low' })
    expect(text).toMatch(/^PUMP-7: .+ \(battery low\)\.$/)
    expect(text).not.toContain('undefined')
  }
  expect(triggerStatuses.filter((status) => isSuccess({ status }))).toEqual(['STARTED', 'NO_UPDATE'])
  const ends = updateStates.map((state) => state.toUpperCase()).filter(isFinalStatus)
  expect(ends).toEqual(['IDLE', 'DONE', 'FAILED', 'REFUSED'])
})

test('an active or final update has a text', () => {
  const entry = { firmware: '1.0.0', index: 0, updateAvailable: false }
  expect(updateText(entry)).toBeUndefined()
  const update = { status: 'DOWNLOADING', firmware: '1.5.0', progress: 41.6, at: 1 } as const
  expect(updateText({ ...entry, update })).toBe('downloading 1.5.0, 42 %')
  expect(updateText({ ...entry, update: { ...update, status: 'DONE' } })).toBe('done 1.5.0')
  expect(updateText({ ...entry, update: { status: 'IDLE', at: 1, message: 'NO_UPDATE' } })).toBeUndefined()
})

test('the message of an update is a result in words, or the text of the device', () => {
  expect(messageText('NO_UPDATE')).toBe('no newer version is available')
  expect(messageText('battery low')).toBe('battery low')
})

const device = (name: string, project: string | null, firmware: string, more: object = {}): FirmwareInformation => ({
  deviceIdentifier: name,
  project,
  firmwares: [{ firmware, index: 0, updateAvailable: false, ...more }],
})

test('devices are counted by project and version, and also those with an active update', () => {
  const tally = tallyOf([
    device('A', 'boiler', '1.0.0', { updateAvailable: true, update: { status: 'DOWNLOADING', progress: 5, at: 1 } }),
    device('B', 'boiler', '1.1.0'),
    device('C', 'boiler', '1.1.0', { update: { status: 'DONE', at: 1 } }),
    { deviceIdentifier: 'D', project: 'pump', firmwares: [] },
    { deviceIdentifier: 'E', project: 'pump' },
    device('F', null, '0.0.1'),
  ])
  expect(tally.get('boiler')).toEqual({
    devices: 3,
    updating: 1,
    versions: [
      { firmware: '1.1.0', index: 0, devices: 2 },
      { firmware: '1.0.0', index: 0, devices: 1 },
    ],
  })
  expect(tally.get('pump')).toEqual({ devices: 2, updating: 0, versions: [] })
  expect(tally.get(withoutProject)?.devices).toBe(1)
})

test('firmwares of one device are counted by index', () => {
  const firmwares = [0, 1].map((index) => ({ firmware: '1.0.0', index, updateAvailable: false }))
  const [[, tally] = []] = tallyOf([{ deviceIdentifier: 'A', project: 'boiler', firmwares }])
  expect(tally?.versions).toEqual([
    { firmware: '1.0.0', index: 0, devices: 1 },
    { firmware: '1.0.0', index: 1, devices: 1 },
  ])
})
