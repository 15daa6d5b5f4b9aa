import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'

const folder = join(projectRoot, 'ops/systemd')
const units = readdirSync(folder)
const textOf = (unit: string) => readFileSync(join(folder, unit), 'utf8')
const noAnalyze = spawnSync('systemd-analyze', ['--version']).error
  ? 'Skipped, units were not verified: systemd-analyze is not installed (apt-get install systemd)'
  : undefined

/** The highest exposure that is allowed, by `systemd-analyze security`, in tenths. */
const exposureMax = 20

test('the folder has the units of the guide', () => {
  expect(units.sort()).toEqual([
    'device-data-backend.service',
    'device-data-backup.service',
    'device-data-backup.timer',
  ])
})

describe.skipIf(noAnalyze !== undefined && !process.env.CI)('systemd', () => {
  test('verifies the units', () => {
    const { status, stdout, stderr } = spawnSync(
      'systemd-analyze',
      ['verify', ...units.map((unit) => join(folder, unit))],
      {
        encoding: 'utf8',
      },
    )
    const ours = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('device-data'))
    // Node may be installed in another folder.
    expect(ours.filter((line) => !line.includes('is not executable'))).toEqual([])
    if (ours.length === 0) expect(status).toBe(0)
  })

  test('finds a low exposure of the server', () => {
    const { status, stdout } = spawnSync(
      'systemd-analyze',
      ['security', '--offline=true', `--threshold=${exposureMax}`, join(folder, 'device-data-backend.service')],
      { encoding: 'utf8' },
    )
    expect([status, stdout.match(/Overall exposure level.*/)?.[0]]).toEqual([0, expect.any(String)])
  })
})

test('the server is the node process, writes to one folder, and is not restarted with bad settings', () => {
  const text = textOf('device-data-backend.service')
  expect(text).toMatch(/^ExecStart=\/usr\/bin\/node --enable-source-maps dist\/src\/app\/main\.js$/m)
  expect(text).toMatch(/DATA_DIR=\/var\/lib\/device-data$/m)
  expect(text).toMatch(/^StateDirectory=device-data$/m)
  expect(text).toMatch(/^RestartPreventExitStatus=78$/m)
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])).toBeGreaterThanOrEqual(20)
})
