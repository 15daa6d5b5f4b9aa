import type { SeededRandom } from '#bench/random'
import type { SimulatedServer } from '#test/simulation/simulated-server'
import type { Witness } from '#test/simulation/witness'

/** Sends one random change or read. A refusal is ignored. */
export function changeSomething(server: SimulatedServer, random: SeededRandom, witness: Witness, device: string): void {
  const parameters = { deviceIdentifier: device, serviceIdentifier: 'climate' }
  const calls = [
    () => server.call('patchMeta', { parameters, body: { note: random.below(5), [`k${random.below(3)}`]: null } }),
    () => server.call('putSchema', { parameters, body: { name: `n${random.below(3)}`, properties: {} } }),
    () => server.call('deleteSchema', { parameters }),
    () => {
      witness.removals.push({ device, at: server.now() })
      return server.call('deleteDevice', { parameters })
    },
    () => server.call('listServices', { query: { depth: 2 } }),
    async () => {
      if ((await server.assembly.database.sweepShapes(0)) > 0) witness.count('shapes deleted')
    },
    () => server.call('readMeta', { parameters, query: {} }),
  ]
  calls[random.below(calls.length)]?.().catch(() => {})
}
