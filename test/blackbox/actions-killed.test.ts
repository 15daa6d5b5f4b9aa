import { expect, test } from 'vitest'
import { climate } from '#test/blackbox/sensor'
import { StartedServer } from '#test/blackbox/started-server'
import { TestGateway } from '#test/blackbox/test-gateway'
import { until } from '#test/blackbox/until'

/** What devices are asked, over the death of the server. Contract 1.10, 3.5, 3.6, 7. */

const devices = Array.from({ length: 200 }, (_, index) => `KILLED-${1_000 + index}`)
const updates = { '0x2000': 22.5 }

interface Action {
  readonly state: string
  readonly devices: readonly { readonly deviceIdentifier: string; readonly status: string }[]
}

test.each([1, 150])('killed when %i of 200 devices did it: all do it, each once', async (count) => {
  const server = await StartedServer.start()
  const gateway = new TestGateway(devices)
  try {
    await gateway.link(server)
    const ask = () =>
      server.ask('/devices/actions', {
        method: 'POST',
        body: { devices, serviceIdentifier: climate, updates },
        headers: { 'idempotency-key': 'all-of-them' },
      })
    // The answer comes before or after its devices are asked: whoever hears none asks again.
    const answer = ask().catch(() => undefined)
    await until(() => gateway.didCount >= count, `${count} to do it`)
    await server.kill()
    await answer
    await server.startAgain()
    await gateway.link(server)
    const again = await ask()
    expect(again.status).toBe(202)
    const { id } = again.json as { id: string }
    const action = await until(async () => {
      const action = (await server.get(`/devices/actions/${id}`)).json as Action
      return action.state === 'done' && action
    }, 'the action to be done')
    expect(action.devices).toEqual(devices.map((deviceIdentifier) => ({ deviceIdentifier, status: 'OK' })))
    // Each heard one id, however often; no id was another's.
    expect([...gateway.done.values()].map(({ length }) => length)).toEqual(devices.map(() => 1))
    const ids = new Set([...gateway.done.values()].flat())
    expect(ids.size).toBe(devices.length)
    for (const written of ids) expect(written).toMatch(new RegExp(`^a:${id}:\\d+$`))
    await server.kill()
    await server.startAgain()
    expect((await server.get(`/devices/actions/${id}`)).json).toEqual(action)
  } finally {
    gateway.cut()
    await server.discard()
  }
})

test('a write under a key, killed before the device could answer: asked again, it was done once', async () => {
  const server = await StartedServer.start()
  const gateway = new TestGateway(['KILLED-1'])
  gateway.isSilent = true
  try {
    await gateway.link(server)
    const write = () =>
      server.ask(`/devices/KILLED-1/services/${climate}/properties`, {
        method: 'PUT',
        body: updates,
        headers: { 'idempotency-key': 'warmer' },
      })
    const answer = write().catch(() => undefined)
    await until(() => gateway.didCount === 1, 'the device to do it')
    await server.kill()
    expect(await answer).toBeUndefined()
    await server.startAgain()
    // Asked before the device is back: it is waited for.
    const again = write()
    gateway.isSilent = false
    await gateway.link(server)
    const heard = await again
    expect([heard.status, heard.json]).toEqual([200, { updates: [{ propId: 0x2000, status: 'OK' }] }])
    expect([gateway.heard, gateway.done.get('KILLED-1')?.length]).toEqual([2, 1])
    const third = await write()
    expect([third.status, third.text, gateway.heard]).toEqual([200, heard.text, 2])
  } finally {
    gateway.cut()
    await server.discard()
  }
})
