import { Writable } from 'node:stream'
import { readConfig } from '#app/config'
import { createLog } from '#app/log'
import { isPlainFailure, type RunningServer, serve } from '#app/running-server'
import type { StreamEvent } from '#bench/dashboard'
import { patientSettings } from '#bench/harness/servers'
import { readStream, type SentFrames } from '#bench/proof/event-checker'
import type { WorkloadRunner } from '#bench/proof/workloads/workload-runner'

const catchUpMsMax = 20_000
const differencesMax = 3

/** A data folder after a crash, opened by a server. */
export interface OpenedFolder {
  readonly running?: RunningServer
  /** The error text, if the folder was not opened. */
  readonly refusal?: string
}

/**
 * Opens the folder with a server in this process, so that hundreds can be tried in a minute. `more`: further
 * environment. If the folder cannot be opened, also because of a bug, the result contains `refusal`. @throws Error for
 * wrong settings
 */
export async function openFolder(folder: string, more: Readonly<Record<string, string>> = {}): Promise<OpenedFolder> {
  const reading = readConfig({
    ...patientSettings,
    PORT: '0',
    DATA_DIR: folder,
    DURABILITY: 'disk',
    ...more,
  })
  if ('mistakes' in reading) throw new Error(reading.mistakes.join('\n'))
  const stream = new Writable({ write: (_, __, done) => done() })
  try {
    return { running: await serve(reading.config, createLog({ level: 'warn', isPretty: false, stream })) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return { refusal: isPlainFailure(error) ? message : `a bug: ${error instanceof Error ? error.stack : message}` }
  }
}

/**
 * Reads the whole stream of the workloads: no offset may be missing, and an event that was received before must be
 * there unchanged. `fleets`: their acknowledged frames must be in it, and the state must match the stream. Returns the last
 * frame of each device of each fleet, and the faults.
 */
export async function readWorkloadStream(
  url: string,
  { authorization, first }: Pick<WorkloadRunner, 'authorization' | 'first'>,
  received: readonly StreamEvent[],
  fleets: readonly SentFrames[] = [],
) {
  const byOffset = new Map<number, string>()
  const others = (event: StreamEvent) => {
    byOffset.set(event.offset, JSON.stringify(event))
    return !fleets.some(({ prefix }) => String(event.deviceIdentifier).startsWith(`${prefix}-`))
  }
  const sentFrames = () => fleets
  const options = { name: 'stream', url, sentFrames, from: first, authorization, others }
  const { frames, faults } = await readStream(options, catchUpMsMax, fleets.length > 0 ? differencesMax : 0)
  const changed = received.find((event) => byOffset.get(event.offset) !== JSON.stringify(event))
  if (!changed) return { lastFrames: frames.lastFrames, faults }
  const { type, offset } = changed
  const fault = `${type} was published at ${offset}, and the stream has ${byOffset.get(offset) ?? 'nothing'} there`
  return { lastFrames: frames.lastFrames, faults: [...faults, fault] }
}
