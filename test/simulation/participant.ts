import type { SeededRandom } from '#bench/random'
import type { Register } from '#test/simulation/register'
import type { Attempt } from '#test/simulation/simulated-requests'
import { answerOf, type Outcome, type SimulatedRequest, type SimulatedServer } from '#test/simulation/simulated-server'
import type { Witness } from '#test/simulation/witness'

export interface Stage {
  readonly server: SimulatedServer
  readonly random: SeededRandom
  readonly witness: Witness
}

/** A part of the simulation that sends requests to the present process. `parts`: the participants that it needs. */
export abstract class Participant<Parts> {
  protected readonly random: SeededRandom
  protected readonly witness: Witness
  protected readonly parts: Parts
  protected server: SimulatedServer
  protected inFlight = 0

  constructor({ server, random, witness }: Stage, parts: Parts) {
    this.server = server
    this.random = random
    this.witness = witness
    this.parts = parts
  }

  get isIdle(): boolean {
    return this.inFlight === 0
  }

  /** The process that received the requests is dead. */
  moveTo(server: SimulatedServer): void {
    this.server = server
    this.inFlight = 0
  }

  /** One of the items, of which there is at least one. */
  protected pick<T>(from: readonly T[]): T {
    return from[this.random.below(from.length)] as T
  }

  /** The outcome of a request. A process that dies meanwhile never answers. */
  protected async answerTo(name: string, request: SimulatedRequest): Promise<Outcome> {
    const { server } = this
    this.inFlight++
    try {
      return await answerOf(server.call(name, request))
    } finally {
      // The process may die between its answer and this line: its requests are no longer counted then.
      if (this.server === server) this.inFlight--
    }
  }

  /** Reports the failure of a task. */
  protected watch(task: Promise<unknown>): void {
    task.catch((error) => this.witness.faults.push(error))
  }

  /** Requests a change of the value; returns a function that records the outcome. */
  protected changing<T>(register: Register<T>, value: T, { isFirst, isOver }: Attempt, check = () => {}) {
    const version = register.request(value, this.witness.moment)
    return ({ status, refused }: Outcome) => {
      if (isOver) register.refused(version)
      else if (!isFirst || refused === 'storage') register.lost(this.witness.moment, [version])
      else if (status >= 300) register.refused(version)
      else {
        check()
        register.stored(version, this.witness.moment)
      }
    }
  }
}
