import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ServerRun, StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import {
  type AdminCommand,
  type AdminResult,
  environmentOf,
  environmentOn,
  errorOf,
  outputOf,
  runAdmin,
} from '#test/cli/admin-process'
import { onSmallDisk } from '#test/store/small-disk'
import { folderOfSuite } from '#test/temporary-folder'

const MIB = 1024 * 1024
const imageCount = 3
const imageBytes = 30 * MIB

describe('an interrupted backup or restore', () => {
  const home = folderOfSuite()
  let server: StartedServer
  let file: string

  beforeAll(async () => {
    server = await StartedServer.start({ IAM: 'off' })
    for (let at = 0; at < imageCount; at++) {
      const body = Buffer.alloc(imageBytes, createHash('sha256').update(`${at}`).digest())
      const url = `${server.base}/updates/projects/big/releases/${at + 1}.0.0`
      expect((await fetch(url, { method: 'PUT', body })).status).toBe(201)
    }
    file = join(home, 'whole.backup')
    outputOf(await runAdmin({ args: ['backup', file], environment: environmentOf(server) }))
    expect(statSync(file).size).toBeGreaterThan(imageCount * imageBytes)
  })
  afterAll(() => server?.finish())

  const partsIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.part'))

  /** A command that backs up into a new folder, and whether a part of the backup is written. */
  function newBackup() {
    const folder = mkdtempSync(join(home, 'backup-'))
    const isReady = () => partsIn(folder).some((name) => statSync(join(folder, name)).size > MIB)
    return { folder, isReady, args: ['backup', join(folder, 'a.backup')] }
  }

  /** Runs a command, and calls `disturb` once `isReady` is true. */
  async function runDisturbed(
    command: AdminCommand,
    isReady: () => boolean,
    disturb: (child: ChildProcess | undefined) => unknown,
  ): Promise<AdminResult> {
    const children: ChildProcess[] = []
    const running = runAdmin({ ...command, started: (child) => children.push(child) })
    await until(isReady, 'the moment to disturb it', 30_000)
    await disturb(children[0])
    return running
  }

  test.each<[string, () => Promise<unknown>, RegExp]>([
    ['killed', () => server.kill(), /the answer was interrupted/],
    ['stopped', async () => expect(await server.stop()).toBe(0), /the backup is cut off at byte/],
  ])('the command reports that the server was %s during a backup, and leaves no file', async (_, end, message) => {
    const { folder, isReady, args } = newBackup()
    const ran = await runDisturbed({ args, environment: environmentOf(server) }, isReady, end)
    expect(errorOf(ran, 1)).toMatch(message)
    expect(readdirSync(folder)).toEqual([])
    expect(server.complaints).toEqual([])
    await server.startAgain()
    outputOf(await runAdmin({ args, environment: environmentOf(server) }))
    expect(readdirSync(folder)).toEqual(['a.backup'])
  })

  test('after a killed backup the server continues, and can be backed up again', async () => {
    const { folder, isReady, args } = newBackup()
    await runDisturbed({ args, environment: environmentOf(server) }, isReady, (child) => child?.kill('SIGKILL'))
    expect([existsSync(join(folder, 'a.backup')), partsIn(folder).length]).toEqual([false, 1])
    await until(() => server.run.lines.some(({ msg }) => msg === 'a backup was interrupted'), 'the server to notice')
    outputOf(await runAdmin({ args, environment: environmentOf(server) }))
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('a backup that %s ends leaves no file', async (signal) => {
    const { folder, isReady, args } = newBackup()
    const ran = await runDisturbed({ args, environment: environmentOf(server) }, isReady, (child) =>
      child?.kill(signal),
    )
    expect([ran.code, readdirSync(folder)]).toEqual([null, []])
  })

  test('inspect deletes the copy of the folder that it made, and old copies of killed commands', async () => {
    const temporary = mkdtempSync(join(home, 'temporary-'))
    const [old, young] = ['device-data-inspect-old', 'device-data-inspect-young'].map((name) => join(temporary, name))
    for (const each of [old, young]) mkdirSync(join(each ?? '', 'db'), { recursive: true })
    const longAgoS = statSync(temporary).mtimeMs / 1_000 - 2 * 86_400
    utimesSync(old ?? '', longAgoS, longAgoS)
    const environment = { ...environmentOf(server), TMPDIR: temporary }
    // The copy never ends.
    const before = `import fs from 'node:fs/promises'
      import { syncBuiltinESMExports } from 'node:module'
      fs.copyFile = () => new Promise(() => setInterval(() => {}, 1000))
      syncBuiltinESMExports()`
    const isCopying = () => readdirSync(temporary).some((name) => !/-(?:old|young)$/.test(name))
    const command = { args: ['inspect'], environment }
    const { code } = await runDisturbed({ ...command, before }, isCopying, (child) => child?.kill('SIGINT'))
    expect([code, readdirSync(temporary)]).toEqual([null, ['device-data-inspect-young']])
    outputOf(await runAdmin(command))
    expect(readdirSync(temporary)).toEqual(['device-data-inspect-young'])
  })

  test('after a killed restore no server opens the folder and no restore continues', async () => {
    const folder = join(home, 'half')
    const images = join(folder, 'restoring', 'images')
    const isReady = () => existsSync(images) && readdirSync(images).length > 1
    const args = ['restore', file]
    await runDisturbed({ args, environment: environmentOn(folder) }, isReady, (child) => child?.kill('SIGKILL'))
    expect(readdirSync(folder)).toEqual(['restoring'])
    const message = /a restore is under way here, or was interrupted/
    const run = new ServerRun({ DATA_DIR: folder })
    expect(await run.ended).toBe(1)
    expect(run.output).toMatch(message)
    expect(errorOf(await runAdmin({ args, environment: environmentOn(folder) }), 1)).toMatch(message)
    expect(errorOf(await runAdmin({ args: ['inspect'], environment: environmentOn(folder) }), 1)).toMatch(message)
    expect(readdirSync(folder)).toEqual(['restoring'])
    rmSync(folder, { recursive: true })
    outputOf(await runAdmin({ args, environment: environmentOn(folder) }))
    const restored = await StartedServer.start({ IAM: 'off' }, folder)
    expect(readdirSync(join(folder, 'images')).length).toBe(imageCount)
    await restored.finish()
  })

  test('a full disk leaves neither an incomplete backup nor an incomplete restore', (context) =>
    onSmallDisk('60m', context, async (disk) => {
      const backedUp = await runAdmin({ args: ['backup', join(disk, 'a.backup')], environment: environmentOf(server) })
      expect(errorOf(backedUp, 1)).toMatch(/ENOSPC.*free some disk space/)
      expect(readdirSync(disk)).toEqual([])
      const restored = await runAdmin({ args: ['restore', file], environment: environmentOn(join(disk, 'data')) })
      expect(errorOf(restored, 1)).toContain('free some disk space')
      expect(readdirSync(disk)).toEqual([])
    }))
})
