import { expect, test } from 'vitest'
import type { PortDevice } from '#link/device-port'
import type { Entry } from '#model/entry'
import type { Problem } from '#model/problem'
import type { Shape } from '#model/shape'
import type { Activation } from '#runtime/activation'
import { forgetAfterMs } from '#runtime/system'
import { LinkStage } from '#test/link/link-stage'
import { ManualWorld } from '#test/runtime/manual-world'
import { faultyPlace } from '#test/runtime/stage'

/** A device on a connection of another protocol: no socket, no codec, no frames. */
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

const world = new ManualWorld()
const { place, faults } = faultyPlace(world)

/** A device that declared a service on a websocket, and now reports by the port alone. */
async function onPort(): Promise<{ room: LinkStage; device: PlainDevice; report: (seq: number) => void }> {
  const room = await LinkStage.open({ world, place })
  room.connect().hello('A')
  await room.settle()
  const { port } = room.links
  const device = new PlainDevice(port.wake('default', 'A'))
  const shape = room.device('A').services[0]?.shape as Shape
  const report = (seq: number) => {
    const items = [0, seq]
    port.report(device, { type: 'report', shape, session: 'boot-1', seq, items, timestamp: undefined }, 100)
  }
  return { room, device, report }
}

test('a connection of any protocol receives its answers from the port, after the commit and in order', async () => {
  const { room, device, report } = await onPort()
  report(1)
  report(2)
  room.links.port.inOrder(() => device.answers.push('behind'))
  expect(device.answers).toEqual([])
  await room.settle()
  expect(device.answers).toEqual(['acknowledged 1', 'acknowledged 2', 'behind'])

  // A repeated report is answered with what is stored, and the port wakes an actor that was released.
  await room.world.advance(2 * forgetAfterMs)
  expect(device.activation.isAlive).toBe(false)
  report(1)
  await room.settle()
  expect(device.answers.slice(3)).toEqual(['acknowledged 2'])
  expect(device.activation.isAlive).toBe(true)

  // Everything that waits for a commit that fails is refused.
  faults.next = { fail: 'io', reachedDisk: false }
  report(3)
  room.links.port.inOrder(() => device.answers.push('behind'))
  await room.settle()
  expect(device.answers.slice(4)).toEqual(['refused 3 storage', 'behind'])
})
