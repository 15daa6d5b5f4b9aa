import { expect, test } from 'vitest'
import { climate } from '#test/blackbox/sensor'
import { StartedServer } from '#test/blackbox/started-server'
import { TestGateway } from '#test/blackbox/test-gateway'
import { until } from '#test/blackbox/until'

/** Actions and writes when the server is killed. Contract 1.10, 3.5, 3.6, 7. */

const devices = Array.from({ length: 200 }, (_, index) => `KILLED-${1_000 + index}`)
const updates = { '0x2000': 22.5 }

interface Action {
  readonly state: string
  readonly devices: readonly { readonly deviceIdentifier: string; readonly status: string }[]
}

test.each([1, 150])(
  'killed after %i of 200 devices executed an action: each device executes it once',
  async (count) => {
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
      // The kill may come before the answer, so the client repeats the request.
      const answer = ask().catch(() => undefined)
      await until(() => gateway.executedCount >= count, `${count} devices to execute it`)
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
      // Each device received one id, maybe repeatedly, and no two devices the same.
      expect([...gateway.executed.values()].map(({ length }) => length)).toEqual(devices.map(() => 1))
      const ids = new Set([...gateway.executed.values()].flat())
      expect(ids.size).toBe(devices.length)
      for (const written of ids) expect(written).toMatch(new RegExp(`^a:${id}:\\d+$`))
      await server.kill()
      await server.startAgain()
      expect((await server.get(`/devices/actions/${id}`)).json).toEqual(action)
    } finally {
      gateway.cut()
      await server.discard()
    }
  },
)

test('killed before a device answers: a write that is repeated with its key is executed once', async () => {
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
    await until(() => gateway.executedCount === 1, 'the device to execute it')
    await server.kill()
    expect(await answer).toBeUndefined()
    await server.startAgain()
    // The device is not connected yet, so the server waits for it.
    const again = write()
    gateway.isSilent = false
    await gateway.link(server)
    const second = await again
    expect([second.status, second.json]).toEqual([200, { updates: [{ propId: 0x2000, status: 'OK' }] }])
    expect([gateway.writeCount, gateway.executed.get('KILLED-1')?.length]).toEqual([2, 1])
    const third = await write()
    expect([third.status, third.text, gateway.writeCount]).toEqual([200, second.text, 2])
  } finally {
    gateway.cut()
    await server.discard()
  }
})
