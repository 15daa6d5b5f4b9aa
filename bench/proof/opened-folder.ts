import { Writable } from 'node:stream'
import { readConfig } from '#app/config'
import { createLog } from '#app/log'
import { isPlainFailure, type Running, serve } from '#app/serve'
import type { StreamEvent } from '#bench/dashboard'
import type { SimulatedDevice } from '#bench/fleet/device'
import { EventChecker } from '#bench/proof/event-checker'
import { patientSettings } from '#bench/proof/server-settings'
import type { WorkloadRunner } from '#bench/proof/workloads/workload-runner'

const catchUpMsMax = 20_000
const differencesMax = 3

/** A data folder after an accident, opened by a server. */
export interface OpenedFolder {
  readonly running?: Running
  /** The error text for the operator, if it was not opened. */
  readonly refusal?: string
}

/**
 * Opens it with a server in this process: hundreds can be tried in a minute. `more`: environment. @throws for a bug; a
 * refusal is returned
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

export interface ReadStream {
  readonly events: readonly StreamEvent[]
  readonly faults: readonly string[]
}

/**
 * Reads the whole stream of the workloads: no offset may be missing, and an event that was received before must be
 * there unchanged. `fleet`: devices whose acknowledged frames must be in it, and whose state must match the stream.
 */
export async function readStream(
  url: string,
  { authorization, first }: Pick<WorkloadRunner, 'authorization' | 'first'>,
  received: readonly StreamEvent[],
  fleet?: { readonly devices: readonly SimulatedDevice[] },
): Promise<ReadStream> {
  const events: StreamEvent[] = []
  const identifiers = new Set(fleet?.devices.map(({ identifier }) => identifier))
  const others = (event: StreamEvent) => events.push(event) > 0 && !identifiers.has(String(event.deviceIdentifier))
  const fleets = fleet ? [fleet] : []
  const witness = new EventChecker({ name: 'stream', url, fleets, from: first, rule: 'whole', authorization, others })
  witness.dashboard.start()
  const faults: string[] = []
  if (!(await witness.dashboard.caughtUp(catchUpMsMax))) faults.push('the stream could not be read to its end')
  else if (fleet) faults.push(...(await witness.dashboard.differences(differencesMax)))
  witness.dashboard.stop()
  faults.push(...witness.problems())
  const byOffset = new Map(events.map((event) => [event.offset, JSON.stringify(event)]))
  const changed = received.find((event) => byOffset.get(event.offset) !== JSON.stringify(event))
  if (changed)
    faults.push(
      `${changed.type} was published at ${changed.offset}, and the stream has ${byOffset.get(changed.offset) ?? 'nothing'} there`,
    )
  return { events, faults }
}
