import { expect, test } from 'vitest'
import { tallyOf, withoutProject } from '#dashboard/pages/firmware/version-tally'
import type { FirmwareInformation } from '#model/firmware'

const device = (name: string, project: string | null, firmware: string, more: object = {}): FirmwareInformation => ({
  deviceIdentifier: name,
  project,
  firmwares: [{ firmware, index: 0, updateAvailable: false, ...more }],
})

test('counts devices by project and version, and those that are being updated', () => {
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
