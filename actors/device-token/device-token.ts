import { recordActor, recordsWithoutEntry } from '#actors/record-actor'
import { defaultTenant } from '#actors/tenant/state'
import { type ActorAddress, answer, type CommandOf } from '#runtime/actor'

/**
 * The device that signs in with a token. Readers must also check that the device still has this token: the device may
 * have been removed, or have another token.
 */
export interface TokenOwner {
  readonly tenant: string
  readonly device: string
}

interface DeviceTokenState {
  owner: TokenOwner | undefined
}

/** Sent by the device. `disown` does nothing if the token belongs to another device by now. */
interface DeviceTokenCommands {
  own: TokenOwner
  disown: TokenOwner
}

export const ownerRecord = 'owner'

/**
 * The actor that knows the device of a token. `hash`: the SHA-256 of the token in base64url. A token does not name its
 * tenant, so these actors are all in the default tenant. Searching all tenants would take too long. Contract 10.
 */
export function deviceTokenAddress(hash: string): ActorAddress<DeviceTokenState, CommandOf<DeviceTokenCommands>> {
  return { kind: 'device_token', tenant: defaultTenant, id: hash }
}

export const deviceTokenActor = recordActor<DeviceTokenState, DeviceTokenCommands>({
  kind: 'device_token',
  records: { [ownerRecord]: 'owner of a device token' },
  empty: () => ({ owner: undefined }),
  put(state, { value }) {
    state.owner = (value as TokenOwner | null) ?? undefined
  },
  decisions: {
    own: (_, { tenant, device }) => recordsWithoutEntry([{ name: ownerRecord, value: { tenant, device } }]),
    disown: ({ owner }, { tenant, device }) =>
      owner?.tenant === tenant && owner.device === device
        ? recordsWithoutEntry([{ name: ownerRecord, value: null }])
        : answer(undefined),
  },
})
