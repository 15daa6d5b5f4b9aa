import { Writable } from 'node:stream'
import { readConfig } from '#app/config'
import { createLog } from '#app/log'
import { type RunningServer, serve } from '#app/running-server'
import type { StreamEvent } from '#bench/dashboard'
import { patientSettings } from '#bench/harness/servers'
import { readStream, type SentFrames } from '#bench/proof/event-checker'
import type { WorkloadRunner } from '#bench/proof/workloads/workload-runner'

const catchUpMsMax = 20_000
const differencesMax = 3

/**
 * Opens a data folder after a crash with a server in this process, so that hundreds can be tried in a minute. `more`:
 * further environment. @throws Error if the folder cannot be opened
 */
export function openFolder(folder: string, more: Readonly<Record<string, string>> = {}): Promise<RunningServer> {
  const settings = { ...patientSettings, PORT: '0', DATA_DIR: folder, DURABILITY: 'disk', ...more }
  const reading = readConfig(settings)
  if ('mistakes' in reading) throw new Error(reading.mistakes.join('\n'))
  const stream = new Writable({ write: (_, __, done) => done() })
  return serve(reading.config, createLog({ level: 'warn', isPretty: false, stream }))
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
