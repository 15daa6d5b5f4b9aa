import { hardwareKey, isEmpty, type ProjectState, projectAddress } from '#actors/project/state'
import { tenantAddress } from '#actors/tenant/commands'
import { isSelected } from '#firmware/rollout-windows'
import { isOpen } from '#firmware/schedule'
import type { UpdateServer } from '#firmware/update-server'
import type { Entry } from '#model/entry'
import { isNewer, type StoredRelease } from '#model/release'
import { defaultAttempts, type StoredRollout } from '#model/rollout'
import { reachesDevice, type Scope } from '#model/scope'
import type { OfferedFirmware, UpdateQuery } from '#model/update-offer'
import type { System } from '#runtime/system'

export interface EmbeddedUpdateServerParts {
  readonly system: System<Entry>
  now(): number
  /** The current scope of a rollout's author. */
  scopeOf(tenant: string, author: string): Scope
}

/**
 * The update server inside this process. It answers synchronously from the state of the projects. Contract 6.
 *
 * An answer may be based on changes that are not stored yet: callers that show it wait for `gate.whenStored`. An update
 * that follows from an answer is stored after these changes.
 */
export class EmbeddedUpdateServer implements UpdateServer {
  readonly isEmbedded = true
  readonly #parts: EmbeddedUpdateServerParts

  constructor(parts: EmbeddedUpdateServerParts) {
    this.#parts = parts
  }

  /** The caller has checked that the tenant exists. @throws Problem `storage` */
  check(query: UpdateQuery): OfferedFirmware | undefined {
    const project = this.#projectOf(query)
    const choice = chooseRelease(project, query, (rollout) => this.#selects(rollout, query))
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

  /**
   * Keeps the actor awake, because the next device asks soon. Projects without content are not kept awake, because
   * devices may send any project name.
   */
  #projectOf({ tenant, project }: UpdateQuery): ProjectState {
    const { system } = this.#parts
    const address = projectAddress(tenant, project)
    const state = system.peek(address)
    return isEmpty(state) ? state : system.wake(address)
  }

  /** Whether a rollout updates this device automatically now. */
  #selects(rollout: StoredRollout, { tenant, project, device }: UpdateQuery): boolean {
    const { system, now, scopeOf } = this.#parts
    const membersOf = (group: string) => system.wake(tenantAddress(tenant)).groups.get(group)?.devices
    return (
      rollout.state === 'running' &&
      isSelected(project, rollout, device, membersOf) &&
      isOpen(rollout.body.window, now()) &&
      reachesDevice(scopeOf(tenant, rollout.updatedBy), 'updates', 'update', device)
    )
  }
}

interface ReleaseChoice {
  readonly release: StoredRelease
  readonly isPinned: boolean
  /** The rollout that includes the device, if any. */
  readonly rollout: StoredRollout | null
}

/**
 * The release of a project that answers a query. In this order:
 *
 * 1. A pinned device gets the pinned version, older or newer, unless it has this version already. If no release of the
 *    version fits, the device gets none. A version that has releases, but none for this firmware index, does not pin
 *    this firmware.
 * 2. For an automatic check with a rollout, the device gets the rollout's version if that is newer and `selects`
 *    returns true; otherwise none.
 * 3. Otherwise the device gets the newest release, if that is newer than its firmware.
 *
 * A release fits by index, and by hardware unless it is for any hardware. Of two fitting releases of one version, the
 * release for the exact hardware wins.
 */
function chooseRelease(
  project: ProjectState,
  query: UpdateQuery,
  selects: (rollout: StoredRollout) => boolean,
): ReleaseChoice | undefined {
  const { device, firmware, isAutomatic } = query
  const pinned = project.pins.get(device)
  if (pinned !== undefined && isPinnedAt(project, pinned, query)) {
    const release = releaseOf(project, pinned, query)
    return release && pinned !== firmware ? { release, isPinned: true, rollout: null } : undefined
  }
  const rollout = (isAutomatic && project.rollout) || null
  const release = rollout ? releaseOf(project, rollout.body.firmware, query) : newestOf(project, query)
  if (!release || !isNewer(release.firmware, firmware)) return undefined
  return !rollout || selects(rollout) ? { release, isPinned: false, rollout } : undefined
}

function isPinnedAt({ releaseIndex }: ProjectState, version: string, { index }: UpdateQuery): boolean {
  const releases = releaseIndex.versions.get(version)
  return !releases || releases.some((release) => release.index === index)
}

/** The fitting release of a version. */
function releaseOf(
  { releaseIndex }: ProjectState,
  version: string,
  { index, hardware }: UpdateQuery,
): StoredRelease | undefined {
  const all = (releaseIndex.versions.get(version) ?? []).filter((release) => release.index === index)
  return (
    all.find((release) => release.hardware === (hardware ?? null)) ?? all.find((release) => release.hardware === null)
  )
}

function newestOf({ releaseIndex }: ProjectState, { index, hardware }: UpdateQuery): StoredRelease | undefined {
  const named = releaseIndex.newest.get(hardwareKey(index, hardware ?? null))
  const any = hardware === undefined ? undefined : releaseIndex.newest.get(hardwareKey(index, null))
  return named && any ? (isNewer(any.firmware, named.firmware) ? any : named) : (named ?? any)
}
