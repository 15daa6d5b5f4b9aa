import { afterAll, expect, test } from 'vitest'
import { assemble } from '#app/assembly'
import type { Reply } from '#http/call'
import { IdempotentRequests } from '#routes/idempotency'
import { openHttp, route, until, world } from '#test/http/http-fixture'
import { memoryServerOptions } from '#test/memory-server'

/** A request completes although its client disconnected or got a timeout; a repeated request gets the answer. */

const begun: ((reply: Reply) => void)[] = []

const assembly = assemble(memoryServerOptions(world))
await assembly.open()
const slow = () => new Promise<Reply>((give) => begun.push(give))
const http = await openHttp({
  bindings: [route('POST', '/slow', slow, { access: 'session' })],
  idempotency: new IdempotentRequests(assembly.context),
  requestDeadlineMs: 300,
})
afterAll(async () => {
  await http.server.close()
  await assembly.close()
})

const send = async (key: string, signal?: AbortSignal) => {
  const init = { method: 'POST', headers: { 'idempotency-key': key }, ...(signal && { signal }) }
  const response = await fetch(`${http.base}/slow`, init)
  return { status: response.status, text: await response.text(), location: response.headers.get('location') }
}

test.each(['disconnected', 'timed out'])('a request completes when its client %s', async (how) => {
  const count = begun.length
  const aborter = new AbortController()
  const first = send(how.replaceAll(' ', '-'), aborter.signal).catch(() => undefined)
  await until(() => begun.length === count + 1)
  if (how === 'disconnected') aborter.abort()
  expect((await first)?.status).toBe(how === 'disconnected' ? undefined : 503)
  await until(() => http.server.inFlight() === 0)
  const again = () => send(how.replaceAll(' ', '-'))
  expect(await again()).toMatchObject({ status: 409, text: expect.stringContaining('still running') })
  begun.at(-1)?.({ status: 201, headers: { Location: '/things/1' }, json: { id: 1 } })
  await assembly.context.system.gate.whenStored()
  let answer = await again()
  while (answer.status === 409) answer = await again()
  expect(answer).toEqual({ status: 201, text: '{"id":1}', location: '/things/1' })
  expect(begun.length).toBe(count + 1)
})
