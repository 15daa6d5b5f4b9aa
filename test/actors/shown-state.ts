import type { DeviceState } from '#actors/device/state'

/**
 * The state of a device as plain values for comparison. Fields of services are private, and alarms and functions are not part of the
 * state.
 */
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
