import { Writable } from 'node:stream'
import { readConfig } from '#app/config'
import { createLog } from '#app/log'
import { isPlainFailure, type Running, serve } from '#app/serve'
import { Dashboard, type StreamEvent } from '#bench/dashboard'
import { identityOn } from '#bench/harness/identity'
import type { WorkloadRunner } from '#bench/proof/workloads/workload-runner'

/** Tokens last for the whole proof, who fails is not slowed down, no mail becomes part of a digest, and nothing is kept back. */
export const patient = {
  TOKEN_LIFETIME_S: '86400',
  ACCESS_TOKEN_LIFETIME_S: '86400',
  RATE_LIMITS: 'off',
  MAILS_PER_HOUR_MAX: '100000',
  STORAGE_HEADROOM_MB: '0',
} as const

const catchUpMsMax = 20_000

/** What came of opening a folder as some accident left it. */
export interface Left {
  readonly running?: Running
  /** Why it was not opened, as the operator hears it. */
  readonly refusal?: string
}

/** `more`: of its environment. Opens it with a server in this process: hundreds can be tried in a minute. @throws what is a bug, and no refusal */
export async function openLeft(folder: string, more: Readonly<Record<string, string>> = {}): Promise<Left> {
  const reading = readConfig({ ...identityOn, ...patient, PORT: '0', DATA_DIR: folder, DURABILITY: 'disk', ...more })
  if ('mistakes' in reading) throw new Error(reading.mistakes.join('\n'))
  const stream = new Writable({ write: (_, __, done) => done() })
  try {
    return { running: await serve(reading.config, createLog({ level: 'warn', isPretty: false, stream })) }
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    return { refusal: isPlainFailure(error) ? said : `a bug: ${error instanceof Error ? error.stack : said}` }
  }
}

/** What was heard must be there, where it was, and nothing left out between. */
export async function streamFaults(
  url: string,
  { authorization, first }: Pick<WorkloadRunner, 'authorization' | 'first'>,
  told: readonly StreamEvent[],
): Promise<readonly string[]> {
  const there: StreamEvent[] = []
  const onEvent = (event: StreamEvent) => there.push(event)
  const reader = new Dashboard({ url, from: first, authorization, isFolding: false, backoffMsMax: 50, onEvent })
  reader.start()
  const hasAll = await reader.caughtUp(catchUpMsMax)
  reader.stop()
  const faults: string[] = [...reader.faults]
  if (!hasAll) faults.push('the stream could not be read to its end')
  if (reader.counts.notRecovered + reader.counts.resyncs > 0) faults.push('the stream was not there from its beginning')
  const gap = there.find(({ offset }, place) => offset !== first.offset + 1 + place)
  if (gap) faults.push(`the stream has a gap before ${gap.offset}`)
  const byOffset = new Map(there.map((event) => [event.offset, JSON.stringify(event)]))
  for (const event of told) {
    const text = byOffset.get(event.offset)
    if (text === JSON.stringify(event)) continue
    faults.push(`${event.type} at ${event.offset} was heard, and ${text === undefined ? 'is gone' : `is ${text}`}`)
    break
  }
  return faults
}
