import { answerWith } from '#bench/harness/answering'
import { CpuClock, type CpuUse } from '#bench/harness/cpu-clock'
import { authorizationHeader } from '#bench/harness/identity'
import type { LoadedServer } from '#bench/harness/under-load'
import { request } from '#bench/http'
import { identifierOf, serviceIdentifier } from '#bench/load/fleet-link'

/** Who asks a whole fleet again and again, each time when all of it has answered. */
export interface ActionsSpec extends LoadedServer {
  readonly devices: number
  readonly prefix: string
  /** Of what is asked to change. */
  readonly propId: number
  /** No action is begun after so long. */
  readonly milliseconds: number
}

export interface ActionsResult extends CpuUse {
  /** Done on every device. */
  readonly actions: number
}

interface ShownAction {
  readonly state: 'running' | 'done'
  readonly counts: Readonly<Record<string, number>>
}

/** Seldom: to look costs the server a look at every page. */
const lookEveryMs = 100
const doneMsMax = 120_000

async function asked<Answer>(spec: ActionsSpec, path: string, expected: number, body?: object): Promise<Answer> {
  const url = `http://127.0.0.1:${spec.port}/api/v1/devices/actions${path}`
  const headers = authorizationHeader(spec.authorizations?.person)
  const question = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
  const { status, text } = await request(url, question)
  if (status !== expected) throw new Error(`an action was answered ${status}: ${text.slice(0, 200)}`)
  return JSON.parse(text) as Answer
}

async function act(spec: ActionsSpec, value: number): Promise<void> {
  const devices = Array.from({ length: spec.devices }, (_, device) => identifierOf(spec.prefix, device))
  const body = { devices, serviceIdentifier, updates: { [spec.propId]: value } }
  const { id } = await asked<{ id: string }>(spec, '', 202, body)
  const end = performance.now() + doneMsMax
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
    const { state, counts } = await asked<ShownAction>(spec, `/${id}?limit=1`, 200)
    if (state === 'done' && counts.OK === spec.devices) return
    if (state === 'done' || performance.now() > end) throw new Error(`an action came to ${JSON.stringify(counts)}`)
  }
}

answerWith({
  async run(spec: ActionsSpec): Promise<ActionsResult> {
    const clock = new CpuClock(spec.serverProcessId)
    const end = performance.now() + spec.milliseconds
    let actions = 0
    while (actions === 0 || performance.now() < end) await act(spec, ++actions)
    return { ...clock.read(), actions }
  },
})
