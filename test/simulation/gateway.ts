import { jsonCodec } from '#link/codecs'
import type { SimulatedDevice } from '#test/simulation/simulated-device'
import { type SimulatedServer, tenant } from '#test/simulation/simulated-server'

export function linkDevices(server: SimulatedServer, devices: readonly SimulatedDevice[]): void {
  if (devices.length === 0) return
  const peer = {
    received: (message: string) => {
      for (const device of devices) if (device.socket === socket) device.received(message)
    },
    sent: (message: string) => {
      if (message.startsWith('{"type":"FIRMWARE"')) server.firmwareSent(JSON.parse(message).id)
    },
    closed: () => {
      for (const device of devices) if (device.socket === socket) device.closed()
    },
  }
  const opening = { tenant, codec: jsonCodec, origin: 'http://simulated' }
  const socket = server.sockets.open(server.assembly.context.links, opening, peer, 1_000_000)
  for (const device of devices) device.hello(socket)
}
