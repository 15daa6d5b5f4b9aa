import { mkdtemp, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '#app/config'
import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'
import { messageOf, nearestFolder } from '#cli/doctor/folder'
import type { World } from '#runtime/world'

const syncCount = 20
const slowMs = 20
/** The size of each write: roughly one commit, with a snapshot of an actor and a chunk of the stream. */
const blockBytes = 4096

/** Measures how long a write to the disk of the data folder takes. */
export async function syncFinding({ dataDirectory, durability }: Config, world: World): Promise<Finding> {
  const about = 'fsync'
  let folder: string | undefined
  try {
    folder = await mkdtemp(join(await nearestFolder(dataDirectory), '.doctor-'))
    const times = await syncTimes(join(folder, 'block'), world)
    const [median, worst] = [times[Math.floor(times.length / 2)] ?? 0, times.at(-1) ?? 0]
    const said = `${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms`
    if (median < slowMs) return ok(about, said)
    if (durability !== 'disk') return ok(about, `${said}; with DURABILITY=process no answer waits for an fsync`)
    const cost = 'with DURABILITY=disk every answer waits for an fsync'
    return hint(about, `${said}: ${cost}`, 'use a faster disk, or DURABILITY=process')
  } catch (error) {
    return wrong(about, `could not be measured: ${messageOf(error)}`, 'see DATA_DIR and disk')
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }
}

/** In ms, shortest first. */
async function syncTimes(file: string, world: World): Promise<readonly number[]> {
  const handle = await open(file, 'wx', 0o600)
  try {
    const times: number[] = []
    for (let block = 0; block < syncCount; block++) {
      const began = world.monotonic()
      await handle.write(new Uint8Array(blockBytes), 0, blockBytes, block * blockBytes)
      await handle.sync()
      times.push(world.monotonic() - began)
    }
    return times.sort((a, b) => a - b)
  } finally {
    await handle.close()
  }
}

/** No data of this server is older than 2026. A time after 2100 is wrong too. */
const earliestMs = Date.UTC(2026, 0, 1)
const latestMs = Date.UTC(2100, 0, 1)
/** The timestamp of a new file may be slightly ahead. */
const aheadMsMax = 5_000
const driftSpanMs = 200
const driftMsMax = 50

const setClock = 'set the clock, and keep it synchronized (systemd-timesyncd, chrony)'

/** Checks that the clock is plausible, runs evenly, and is not behind stored files. */
export async function clockFindings({ dataDirectory }: Config, world: World): Promise<readonly Finding[]> {
  const now = world.now()
  if (now < earliestMs || now > latestMs) {
    const said = `shows ${new Date(now).toISOString()}, but tokens, alarms and the stream need the right time`
    return [wrong('clock', said, setClock)]
  }
  const findings: Finding[] = []
  const newest = await newestIn(join(dataDirectory, 'db'))
  if (newest !== undefined && newest > now + aheadMsMax) {
    const said = `is ${Math.round((newest - now) / 1000)} s behind the latest file in DATA_DIR: the clock was set back`
    findings.push(wrong('clock', said, setClock))
  }
  const drift = await driftOf(world)
  if (Math.abs(drift) > driftMsMax) {
    const said = `jumped by ${Math.round(drift)} ms within ${driftSpanMs} ms: something sets the clock in steps`
    const todo = 'adjust the clock gradually (systemd-timesyncd, chrony), and check the virtual machine'
    findings.push(hint('clock', said, todo))
  }
  return findings.length > 0 ? findings : [ok('clock', new Date(now).toISOString())]
}

async function driftOf(world: World): Promise<number> {
  const [wall, steady] = [world.now(), world.monotonic()]
  // Not with `world.after`: its timer does not keep the process alive.
  while (world.monotonic() - steady < driftSpanMs) await new Promise<void>((resolve) => world.soon(resolve))
  return world.now() - wall - (world.monotonic() - steady)
}

/** The latest modification time of the files in a folder; undefined if there are none. */
async function newestIn(folder: string): Promise<number | undefined> {
  const names = await readdir(folder).catch((): string[] => [])
  const times = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        (found) => found.mtimeMs,
        () => 0,
      ),
    ),
  )
  return times.length > 0 ? Math.max(...times) : undefined
}
