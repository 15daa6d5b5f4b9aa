import { projectAddress } from '#actors/project/address'
import { isNothing, type ProjectState } from '#actors/project/state'
import { tenantAddress } from '#actors/tenant/address'
import { isChosen } from '#firmware/chosen'
import { OpenWindows } from '#firmware/open-windows'
import { chooseRelease } from '#firmware/release-choice'
import type { UpdateServer } from '#firmware/update-server'
import type { Entry } from '#model/entry'
import { defaultAttempts, type StoredRollout } from '#model/rollout'
import { reachesDevice, type Scope } from '#model/scope'
import type { OfferedFirmware, UpdateQuestion } from '#model/update-offer'
import type { System } from '#runtime/system'

export interface EmbeddedUpdateServerParts {
  readonly system: System<Entry>
  now(): number
  /** What the author of a rollout may do now. */
  scopeOf(tenant: string, author: string): Scope
}

/**
 * The update server that is part of this one: it answers from the projects, at once and without a turn. Contract 6.
 *
 * What it says may not be stored yet: whoever shows it waits for `gate.settled`, and what is begun by it is stored behind it.
 */
export class EmbeddedUpdateServer implements UpdateServer {
  readonly isEmbedded = true
  readonly #parts: EmbeddedUpdateServerParts
  readonly #windows = new OpenWindows()

  constructor(parts: EmbeddedUpdateServerParts) {
    this.#parts = parts
  }

  /** The caller knows that there is such a tenant. @throws Problem `storage` */
  check(question: UpdateQuestion): OfferedFirmware | undefined {
    const project = this.#projectOf(question)
    const choice = chooseRelease(project, question, (rollout) => this.#isMeant(rollout, question))
    if (!choice) return undefined
    const { release, isPinned, rollout } = choice
    const { firmware, hardware, index, sha256, size } = release
    return {
      firmware,
      ...(hardware !== null && { hardware }),
      index,
      sha256,
      size,
      isPinned,
      url: null,
      rollout: rollout && { id: rollout.id, maxAttempts: rollout.body.maxAttempts ?? defaultAttempts },
    }
  }

  /** Kept awake when there is anything: the next device of it asks soon. Devices may name any project. */
  #projectOf({ tenant, project }: UpdateQuestion): ProjectState {
    const { system } = this.#parts
    const address = projectAddress(tenant, project)
    const state = system.look(address)
    return isNothing(state) ? state : system.wake(address)
  }

  /** Whether a rollout begins with this device by itself, now. */
  #isMeant(rollout: StoredRollout, { tenant, project, device }: UpdateQuestion): boolean {
    const { system, now, scopeOf } = this.#parts
    const membersOf = (group: string) => system.wake(tenantAddress(tenant)).groups.get(group)?.devices
    return (
      rollout.state === 'running' &&
      isChosen(project, rollout, device, membersOf) &&
      this.#windows.isOpen(rollout.body.window, now()) &&
      reachesDevice(scopeOf(tenant, rollout.updatedBy), 'updates', 'update', device)
    )
  }
}
