import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { killAtExit } from '#bench/exit-cleanup'
import type { StartServer } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { freePort } from '#bench/server-process'
import { sleep } from '#bench/time'

/** A server of the system in the foreground, with only the settings given here. */
export interface InstalledServer {
  readonly command: string
  /** `{port}` and `{folder}` are replaced, here and in the settings. */
  readonly line: readonly string[]
  /** Content of the file `settings` in its folder. */
  readonly settings?: string
}

const startMsMax = 10_000
const stopMsMax = 5_000

/** The folders of PATH, and further folders in which servers may be installed. */
const searched = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`
const environment = { ...process.env, PATH: searched }

export function isInstalled(command: string): boolean {
  return searched.split(':').some((folder) => existsSync(join(folder, command)))
}

/** The output of a command on both streams, with any exit code. */
export function printed(command: string, option: string): string {
  const { stdout, stderr } = spawnSync(command, [option], { encoding: 'utf8', env: environment })
  return `${stdout}${stderr}`
}

/** A fresh server with its own port and folder. */
export function installedServer({ command, line, settings }: InstalledServer): StartServer {
  return async () => {
    const port = await freePort()
    const folder = temporaryFolder('bench-peer-')
    const filled = (text: string) => text.replaceAll('{port}', String(port)).replaceAll('{folder}', folder.path)
    if (settings !== undefined) writeFileSync(join(folder.path, 'settings'), filled(settings))
    const child = spawn(command, line.map(filled), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environment,
    })
    killAtExit(child)
    const output: string[] = []
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => output.push(String(text)))
    const ended = new Promise<void>((resolve) => {
      child.once('error', (error) => {
        output.push(String(error))
        resolve()
      })
      child.once('exit', () => resolve())
    })
    const stop = async () => {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), stopMsMax)
      await ended
      clearTimeout(timer)
      await folder.remove()
    }
    try {
      await listening(port, child)
      return { port, processId: child.pid ?? 0, stop }
    } catch (error) {
      await stop()
      throw new Error(`${command} does not start: ${error}\n${output.join('').slice(-2_000)}`)
    }
  }
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  const end = performance.now() + startMsMax
  while (performance.now() < end && child.exitCode === null && child.pid !== undefined) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
      socket.once('connect', () => socket.destroy())
    })
    if (isOpen) return
    await sleep(20)
  }
  throw new Error('the server does not listen')
}
