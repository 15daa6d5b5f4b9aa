import type { SeededRandom } from '#bench/random'
import { SimulatedActions } from '#test/simulation/simulated-actions'
import { SimulatedAlarms } from '#test/simulation/simulated-alarms'
import type { SimulatedDevice } from '#test/simulation/simulated-device'
import { SimulatedPeople } from '#test/simulation/simulated-people'
import { SimulatedRequests } from '#test/simulation/simulated-requests'
import { SimulatedSchema } from '#test/simulation/simulated-schema'
import type { SimulatedServer } from '#test/simulation/simulated-server'
import { SimulatedUpdates } from '#test/simulation/simulated-updates'
import { SimulatedWrites } from '#test/simulation/simulated-writes'
import type { Witness } from '#test/simulation/witness'

/** Everybody who asks the server for something, and the devices that they ask for it. */
export class Everybody {
  readonly people: SimulatedPeople
  readonly schema: SimulatedSchema
  readonly requests: SimulatedRequests
  readonly writes: SimulatedWrites
  readonly alarms: SimulatedAlarms
  readonly actions: SimulatedActions
  readonly updates: SimulatedUpdates

  constructor(server: SimulatedServer, random: SeededRandom, witness: Witness, devices: readonly SimulatedDevice[]) {
    const names = devices.map(({ name }) => name)
    this.people = new SimulatedPeople(server, random, witness, names)
    this.schema = new SimulatedSchema(server, random, witness)
    this.requests = new SimulatedRequests(server, random, witness)
    this.writes = new SimulatedWrites(server, this.requests, random, witness, devices, this.schema)
    const { requests, people, schema } = this
    this.alarms = new SimulatedAlarms(server, random, witness, { requests, people, schema, devices: names })
    const many = { requests, people, schema, alarms: this.alarms, devices }
    this.actions = new SimulatedActions(server, random, witness, many)
    this.updates = new SimulatedUpdates(server, random, witness, many)
    for (const device of devices) {
      device.onAsked = (updates) => {
        this.writes.askedOf(updates)
        this.actions.askedOf(device, updates)
      }
    }
  }

  /** The process that they asked is dead. */
  moveTo(server: SimulatedServer): void {
    const { people, schema, requests, writes, alarms, actions, updates } = this
    for (const part of [people, schema, requests, writes, alarms, actions, updates]) part.moveTo(server)
  }

  /** Looks what became of what was asked for. For a server at rest. */
  async settle(): Promise<void> {
    await Promise.all([this.people.settle(), this.schema.settle(), this.alarms.settle()])
  }
}
