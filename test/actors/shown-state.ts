import type { DeviceState } from '#actors/device/state'

/** A device's state as plain values of its own, to be compared: what a service keeps is private to it, its rules and functions
 * no state. */
export function shownState(state: DeviceState) {
  const services = state.services.map((service) => ({
    shape: service.shape.id,
    states: service.states(),
    times: service.times(),
    offsets: service.offsets(),
  }))
  const { rules: _, functions: __, ...kept } = state
  return structuredClone({ ...kept, services })
}
