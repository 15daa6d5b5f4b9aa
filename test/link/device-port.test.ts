import { expect, test } from 'vitest'
import type { PortDevice } from '#link/device-port'
import type { Entry } from '#model/entry'
import type { Problem } from '#model/problem'
import type { Shape } from '#model/shape'
import type { Activation } from '#runtime/activation'
import { forgetAfterMs } from '#runtime/system'
import { LinkFixture } from '#test/link/link-fixture'

/** A device on a connection of another protocol, without socket, codec or frames. */
class PlainDevice implements PortDevice {
  readonly tenant = 'default'
  readonly device = 'A'
  activation: Activation<Entry>
  readonly answers: string[] = []

  constructor(activation: Activation<Entry>) {
    this.activation = activation
  }

  acknowledged(seq: number): void {
    this.answers.push(`acknowledged ${seq}`)
  }

  refusing(): void {
    this.answers.push('refusing')
  }

  refused(seq: number, { code }: Problem): void {
    this.answers.push(`refused ${seq} ${code}`)
  }
}

/** A device that declared a service on a websocket, and then reports through the port only. */
async function onPort(): Promise<{ setup: LinkFixture; device: PlainDevice; report: (seq: number) => void }> {
  const setup = await LinkFixture.open()
  setup.connect().hello('A')
  await setup.settle()
  const { port } = setup.links
  const device = new PlainDevice(port.wake('default', 'A'))
  const shape = setup.device('A').services[0]?.shape as Shape
  const report = (seq: number) => {
    const items = [0, seq]
    port.report(device, { type: 'report', shape, session: 'boot-1', seq, items, timestamp: undefined }, 100)
  }
  return { setup, device, report }
}

test('the port answers after the commit and in order', async () => {
  const { setup, device, report } = await onPort()
  report(1)
  report(2)
  setup.links.port.inOrder(() => device.answers.push('behind'))
  expect(device.answers).toEqual([])
  await setup.settle()
  expect(device.answers).toEqual(['acknowledged 1', 'acknowledged 2', 'behind'])

  // The port answers a repeated report with the stored number, and wakes a forgotten actor.
  await setup.world.advance(2 * forgetAfterMs)
  expect(device.activation.isAlive).toBe(false)
  report(1)
  await setup.settle()
  expect(device.answers.slice(3)).toEqual(['acknowledged 2'])
  expect(device.activation.isAlive).toBe(true)

  // A failed commit refuses all waiting reports.
  setup.faults.next = { fail: 'io', reachedDisk: false }
  report(3)
  setup.links.port.inOrder(() => device.answers.push('behind'))
  await setup.settle()
  expect(device.answers.slice(4)).toEqual(['refused 3 storage', 'behind'])
})
