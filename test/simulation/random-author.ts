import type { SeededRandom } from '#bench/random'
import { mayDo, mayRead } from '#test/simulation/reference-filter'
import type { SimulatedPeople } from '#test/simulation/simulated-people'
import type { SimulatedRequest } from '#test/simulation/simulated-server'
import type { Witness } from '#test/simulation/witness'

export interface Author {
  readonly request: SimulatedRequest
  /** Checks that a user who sends the request directly has the permissions for it. */
  readonly check: () => void
}

/** A resource bound to devices, with events about them. */
interface Bound {
  readonly resource: string
  /** The service whose values are in the events; undefined if there is none. */
  readonly service?: string
  /** The devices to which the resource was bound at every moment since `from`. */
  surelyBound(from: number): readonly string[]
}

/** The caller: the administrator in the name of a user, or a user directly, with or without permission. */
export function randomAuthor(
  { random, witness, people }: { random: SeededRandom; witness: Witness; people: SimulatedPeople },
  { resource, service, surelyBound }: Bound,
): Author {
  const person = random.pick(people.persons)
  const session = random.pick([...(person?.sessions ?? [])].filter(({ isBegun }) => isBegun))
  if (!person || !session || random.next() < 0.6) {
    // Otherwise most requests would be refused.
    const as = random.next() < 0.4 ? people.root : random.pick(people.accounts)
    return { request: as === undefined ? {} : { as }, check: () => {} }
  }
  const { moment } = witness
  const check = () => {
    for (const device of surelyBound(moment)) {
      const may = person.grounds(moment, (grants) => mayDo(grants, resource, ['create', 'update'], device))
      const reads = person.grounds(moment, (grants) => mayRead(grants, 'service', device, service))
      witness.check(() => `${person.name} has ${resource} of ${device}`, may)
      witness.check(() => `${person.name} has ${resource} about ${service} of ${device}`, reads)
    }
  }
  return { request: { authorization: session.authorization }, check }
}
