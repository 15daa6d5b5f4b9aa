import type { Hello, Welcome } from '#actors/device/commands'
import { deviceAddress } from '#actors/device/device'
import { type MemoryLimits, memoryFaultOf } from '#actors/device/memory'
import type { DeviceState } from '#actors/device/state'
import { admitted } from '#link/admission'
import { afterGate } from '#link/after-gate'
import { integerFor } from '#link/codec'
import { declaredServices } from '#link/declaration'
import type { FrameAbout, Link, LinkedDevice } from '#link/link'
import { shapeNamed } from '#link/linked-services'
import { ownText } from '#link/own-text'
import { type Owners, takeOversMax } from '#link/owners'
import { sessionOf } from '#link/session'
import { whyNotSpeak } from '#link/speaking'
import type { Entry, Firmware } from '#model/entry'
import { type HelloMessage, linkWindowMessages } from '#model/link-message'
import { Problem } from '#model/problem'
import type { InternShape } from '#model/shape'
import type { Asker } from '#runtime/actor'
import type { System } from '#runtime/system'

export interface HellosOptions {
  readonly system: System<Entry>
  readonly intern: InternShape
  readonly memory: MemoryLimits
  readonly owners: Owners
  /** Refuses a frame for its content. */
  readonly refuse: (link: Link, problem: Problem, about: FrameAbout) => void
  /** A device may be spoken to from now on. `said`: the firmwares that it named. */
  readonly welcomed: (linked: LinkedDevice, said: readonly Firmware[]) => void
  /** A device was not admitted: for the log. */
  readonly notAdmitted: (tenant: string, problem: Problem) => void
}

/** How a device comes to be on a link: it is made if need be, taken over from another link, and welcomed. Contract 7. */
export class Hellos {
  readonly #options: HellosOptions

  constructor(options: HellosOptions) {
    this.#options = options
  }

  /** `bytes`: what it weighs while it waits. */
  take(link: Link, message: HelloMessage, bytes: number): void {
    const { system, intern, memory, owners, refuse } = this.#options
    const { tenant } = link.opening
    const device = ownText(message.deviceIdentifier)
    const about = { deviceIdentifier: device }
    if (!system.isServing || !system.gate.isOpen) {
      link.refuse(new Problem('storage'))
      return
    }
    const notAllowed = whyNotSpeak(system, link.opening, device)
    if (notAllowed) {
      refuse(link, notAllowed, about)
      return
    }
    let services: Hello['services']
    try {
      services = declaredServices(message.services, intern)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      refuse(link, error, about)
      return
    }
    // Before the device is made, or taken over from another link: a refused HELLO changes nothing.
    const awake = system.registry.wake(deviceAddress(tenant, device))
    const fault = memoryFaultOf(awake.state as DeviceState, services, [], tenant, memory)
    if (fault) {
      system.registry.forgetNothing(awake)
      afterGate(system, () => link.refuse(fault, about, false, false))
      return
    }
    const before = owners.get(tenant, device)
    if (before && before.link !== link && owners.isFlapping(tenant, device)) {
      link.error('FLAPPING', `${device} changed links more than ${takeOversMax} times in a minute`, about)
      return
    }
    const admission = admitted(system, link.opening, device, {
      refusing: () => link.stopTaking(),
      refused: (problem) => this.#notAdmitted(link, problem, about),
    })
    if (!admission) return
    const { activation, secret } = admission
    const { flakeAddress } = activation.state as DeviceState
    const linked: LinkedDevice = {
      link,
      device,
      flakeAddress,
      session: sessionOf(message, system.world),
      services: link.shapes.of(message.services.map((service) => shapeNamed(services, service.serviceIdentifier))),
      activation,
      isWelcomed: false,
      lastSeq: 0,
      ackSeq: 0,
      isAckWaiting: false,
      isShort: false,
    }
    this.#own(tenant, linked, before)
    const { firmwares } = message
    const hello: Hello = {
      type: 'hello',
      session: linked.session,
      services,
      project: message.project,
      firmwares,
      isAutoUpdated: message.autoUpdate,
      isConnect: before?.link !== link,
    }
    const asker: Asker = {
      answered: (welcome) => {
        this.#welcome(linked, welcome as Welcome, secret)
        this.#options.welcomed(linked, firmwares ?? [])
      },
      refusing: () => link.stopTaking(),
      refused: (problem) => link.refuse(problem, { ...about, flakeAddress }),
    }
    system.turnOf(activation, hello, asker, bytes)
  }

  /** What may not be is its mistake; anything else may have passed when it comes again. */
  #notAdmitted(link: Link, problem: Problem, about: FrameAbout): void {
    this.#options.notAdmitted(link.opening.tenant, problem)
    link.refuse(problem.code === 'forbidden' ? problem : new Problem('overloaded'), about)
  }

  #own(tenant: string, linked: LinkedDevice, before: LinkedDevice | undefined): void {
    const { system, owners } = this.#options
    owners.set(tenant, linked)
    if (before) {
      before.link.devices.delete(before.flakeAddress)
      // Removed and made anew since: late frames may still name the old address.
      if (before.flakeAddress !== linked.flakeAddress) before.link.removed.add(before.flakeAddress)
      if (before.link !== linked.link) {
        before.link.replaced.add(before.flakeAddress)
        const { flakeAddress } = before
        afterGate(system, () =>
          before.link.error('REPLACED', `${linked.device} is on another link now`, { flakeAddress }),
        )
      }
    }
    linked.link.replaced.delete(linked.flakeAddress)
    linked.link.devices.set(linked.flakeAddress, linked)
  }

  #welcome(linked: LinkedDevice, { flakeAddress, seq }: Welcome, secret: string | undefined): void {
    linked.link.accepted()
    const { world } = this.#options.system
    const { protocol } = linked.link.opening
    linked.link.send({
      type: 'WELCOME',
      flakeAddress,
      deviceIdentifier: linked.device,
      seq: integerFor(protocol, seq),
      window: linkWindowMessages,
      timestamp: integerFor(protocol, world.now()),
      ...(secret !== undefined && { secret }),
    })
    linked.isWelcomed = true
  }
}
