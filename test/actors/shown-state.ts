import type { DeviceState } from '#actors/device/state'

/**
 * The state of a device as plain values for comparison. The fields of services are private, so methods read them.
 * `rules` and `functions` are left out.
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
