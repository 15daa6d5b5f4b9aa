import { mkdtemp, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '#app/config'
import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'
import { nearest, wordsOf } from '#cli/doctor/folder'
import type { World } from '#runtime/world'

/** Clocks and waits: what takes how long, and what time it is. */

const syncs = 20
const slowMs = 20
/** About a snapshot and its chunk. */
const blockBytes = 4096

/** How long the disk takes until something is on it, where the data lie. */
export async function syncFinding({ dataDirectory, durability }: Config, world: World): Promise<Finding> {
  const about = 'fsync'
  let folder: string | undefined
  try {
    folder = await mkdtemp(join(await nearest(dataDirectory), '.doctor-'))
    const times = await timed(join(folder, 'block'), world)
    const [median, worst] = [times[Math.floor(times.length / 2)] ?? 0, times.at(-1) ?? 0]
    const said = `${median.toFixed(1)} ms, at worst ${worst.toFixed(1)} ms`
    if (median < slowMs) return ok(about, said)
    if (durability !== 'disk') return ok(about, `${said}; with DURABILITY=process nothing waits for it`)
    return hint(
      about,
      `${said}: with DURABILITY=disk every answer waits that long`,
      'a faster disk, or DURABILITY=process',
    )
  } catch (error) {
    return wrong(about, `could not be tried: ${wordsOf(error)}`, 'see DATA_DIR and disk')
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }
}

async function timed(file: string, world: World): Promise<readonly number[]> {
  const handle = await open(file, 'wx', 0o600)
  try {
    const times: number[] = []
    for (let at = 0; at < syncs; at++) {
      const began = world.monotonic()
      await handle.write(new Uint8Array(blockBytes), 0, blockBytes, at * blockBytes)
      await handle.sync()
      times.push(world.monotonic() - began)
    }
    return times.sort((a, b) => a - b)
  } finally {
    await handle.close()
  }
}

/** 2026 began: nothing of ours is older. And what is later than 2100 is a mistake, too. */
const earliestMs = Date.UTC(2026, 0, 1)
const latestMs = Date.UTC(2100, 0, 1)
/** A file of now may be stamped a tick ahead. */
const aheadMsMax = 5_000
const watchedMs = 200
const driftMsMax = 50

const setIt = 'set it, and keep it right (systemd-timesyncd, chrony)'

/** Whether what it says can be so, runs evenly, and does not lie behind what is stored. */
export async function clockFindings({ dataDirectory }: Config, world: World): Promise<readonly Finding[]> {
  const now = world.now()
  if (now < earliestMs || now > latestMs) {
    return [wrong('clock', `says ${new Date(now).toISOString()}: tokens, alarms and the stream go by it`, setIt)]
  }
  const findings: Finding[] = []
  const newest = await newestIn(join(dataDirectory, 'db'))
  if (newest !== undefined && newest > now + aheadMsMax) {
    const said = `is ${Math.round((newest - now) / 1000)} s behind the latest file in DATA_DIR: it was set back`
    findings.push(wrong('clock', said, setIt))
  }
  const drift = await driftOf(world)
  if (Math.abs(drift) > driftMsMax) {
    const said = `jumped by ${Math.round(drift)} ms within ${watchedMs} ms: somebody sets it by steps`
    findings.push(hint('clock', said, 'let it be slewed (systemd-timesyncd, chrony), and look at the virtual machine'))
  }
  return findings.length > 0 ? findings : [ok('clock', new Date(now).toISOString())]
}

async function driftOf(world: World): Promise<number> {
  const [wall, steady] = [world.now(), world.monotonic()]
  // Turn by turn: a timer of the world does not keep the process alive.
  while (world.monotonic() - steady < watchedMs) await new Promise<void>((resolve) => world.soon(resolve))
  return world.now() - wall - (world.monotonic() - steady)
}

/** When any file of it was last written; undefined where there is none. */
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
