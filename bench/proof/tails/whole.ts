import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Dashboard, type StreamEvent, type StreamPosition } from '#bench/dashboard'
import { identityOn } from '#bench/harness/identity'
import { loadedBefore } from '#bench/harness/servers'
import { Office } from '#bench/proof/clerks/office'
import { ProofApi } from '#bench/proof/clerks/proof-api'
import { patient } from '#bench/proof/left-folder'
import { type LogMark, type WrittenLog, writtenLog } from '#bench/proof/tails/log-loss'
import { SeededRandom } from '#bench/random'
import { freePort, startServer } from '#bench/server-process'
import { logsToRead, readManifest } from '#store/level-files/check'

const lives = 3
const catchUpMsMax = 10_000

/** A folder before anything is damaged, and what is known of it. */
export interface Whole {
  readonly dataFolder: string
  readonly office: Office
  readonly told: readonly ToldEvent[]
  /** Heard last. */
  readonly last: StreamPosition
  /** Those that an opening reads. */
  readonly logs: readonly WrittenLog[]
  readonly marks: readonly LogMark[]
  /** All images that were there at a mark. */
  readonly imagesKept: string
  /** SHA-256 of the image of a release that is there. */
  readonly image: string
  /** And of one whose release is in the tables, and its deletion in a log. */
  readonly imageTakenAway: string
}

interface ToldEvent {
  /** Unix ms. */
  readonly at: number
  readonly event: StreamEvent
}

/** Leaves a folder behind, as a killed server does, with tables, a manifest that was written to, and a log. */
export async function leave(
  folder: string,
  { seed, lifeMs }: { readonly seed: number; readonly lifeMs: number },
): Promise<Whole> {
  const port = await freePort()
  const dataFolder = join(folder, 'data')
  mkdirSync(dataFolder, { mode: 0o700 })
  const told: ToldEvent[] = []
  const marks: LogMark[] = []
  const database = join(dataFolder, 'db')
  const imagesKept = join(folder, 'images')
  mkdirSync(imagesKept)
  const mark = () => {
    marks.push(markOf(database))
    keepImages(join(dataFolder, 'images'), imagesKept)
  }
  const releases = new TailReleases()
  let office: Office | undefined
  let dashboard: Dashboard | undefined
  for (let life = 0; life < lives; life++) {
    if (life > 0) mark()
    const server = await startServer({
      port,
      dataFolder,
      environment: { ...identityOn, ...patient },
      nodeArguments: loadedBefore('harness/cheap-passwords'),
      isKilledAtExit: true,
    })
    office ??= await Office.open({ port, dataFolder, random: new SeededRandom(seed) })
    const faults = await office.settle()
    if (faults.length > 0) throw new Error(`before anything was damaged: ${faults.join('; ')}`)
    if (!dashboard) {
      const { authorization, first: from } = office
      const onEvent = (event: StreamEvent) => told.push({ at: now(), event })
      const url = `http://127.0.0.1:${port}`
      dashboard = new Dashboard({ url, from, authorization, isFolding: false, backoffMsMax: 200, onEvent })
      dashboard.start()
    }
    const api = new ProofApi(`http://127.0.0.1:${port}`, office.authorization, dataFolder)
    if (life === 0) await releases.make(api)
    if (life === lives - 1) await releases.takeAway(api)
    let isOver = false
    const working = office.work(() => isOver)
    await new Promise((resolve) => setTimeout(resolve, lifeMs))
    isOver = true
    await working
    if (life === lives - 1) {
      await office.takeTurns(mark)
      if (!(await dashboard.caughtUp(catchUpMsMax))) throw new Error('the stream could not be heard to its end')
    }
    await server.kill()
  }
  dashboard?.stop()
  await office?.end()
  const last = dashboard?.position
  if (!office || !last) throw new Error('there was no life')
  const manifest = await readManifest(database, readdirSync(database))
  if (typeof manifest === 'string') throw new Error(`before anything was damaged: ${manifest}`)
  const logs = logsToRead(readdirSync(database), manifest)
  return {
    dataFolder,
    office,
    told,
    last,
    logs: logs.map((file) => writtenLog(file, readFileSync(join(database, file)))),
    marks,
    imagesKept,
    image: releases.sha256Of('1.0.0'),
    imageTakenAway: releases.sha256Of('2.0.0'),
  }
}

/** Two releases of a project of ours. */
class TailReleases {
  readonly #sha256 = new Map<string, string>()

  async make(api: ProofApi): Promise<void> {
    for (const firmware of ['1.0.0', '2.0.0']) {
      const body = Buffer.alloc(5_000, firmware)
      const { status, text } = await api.ask('PUT', `${tailReleases}/${firmware}`, { body })
      if (status !== 201) throw new Error(`making a release is answered ${status} ${text}`)
      this.#sha256.set(firmware, (JSON.parse(text) as { sha256: string }).sha256)
    }
  }

  async takeAway(api: ProofApi): Promise<void> {
    const { status, text } = await api.ask('DELETE', `${tailReleases}/2.0.0`)
    if (status !== 204) throw new Error(`taking a release away is answered ${status} ${text}`)
  }

  sha256Of(firmware: string): string {
    return this.#sha256.get(firmware) ?? ''
  }
}

export const tailReleases = '/updates/projects/tails/releases'

/** An image is taken away behind the write that gives it up: without that write it is asked for again. */
function keepImages(images: string, kept: string): void {
  if (!existsSync(images)) return
  for (const name of readdirSync(images).filter((each) => /^[0-9a-f]{64}$/.test(each)))
    if (!existsSync(join(kept, name))) linkSync(join(images, name), join(kept, name))
}

function markOf(database: string): LogMark {
  const at = now()
  const logs = readdirSync(database).filter((name) => name.endsWith('.log'))
  return { at, bytes: new Map(logs.map((file) => [file, statSync(join(database, file)).size])) }
}

/** As the books have it: Unix ms with fractions. */
function now(): number {
  return performance.timeOrigin + performance.now()
}
