import type { Item } from '#client/client'
import { fleetCommand } from '#dashboard/commands'
import { KeysSection } from '#dashboard/pages/administration/keys-section'
import { mayHere, tenantName, tenantOption, tenantQuery } from '#dashboard/pages/administration/tenant-choice'
import { Command, Empty } from '#dashboard/parts/empty'
import { explained } from '#dashboard/parts/explained'
import { NumberField } from '#dashboard/parts/fields'
import type { Column } from '#dashboard/parts/table'
import { client } from '#dashboard/session'

type ProvisioningKey = Item<'GET /iam/provisioning-keys'>

/** Such a key is good for any device. Contract 2. */
const notAll = 'A provisioning key is good for any device: it takes a right on all of them.'
const all = { deviceIdentifier: '*' }

const columns: readonly Column<ProvisioningKey>[] = [
  { key: 'devices', title: 'Devices', align: 'end', cell: ({ devices }) => devices },
  { key: 'most', title: 'At most', align: 'end', cell: ({ maxDevices }) => maxDevices ?? 'any number' },
]

interface Limits {
  readonly maxDevices?: number
}
const noLimits: Limits = {}

/** Keys by which gateways register devices and speak for them. Contract 2, 7. */
export function ProvisioningKeys() {
  const mayMake = mayHere('device', 'create', all)
  return (
    <KeysSection
      kind="provisioning key"
      read={() => client.call('GET /iam/provisioning-keys', { query: tenantQuery() })}
      mayMake={mayMake}
      mayDelete={mayHere('device', 'delete', all)}
      columns={columns}
      empty={<NoKey mayMake={mayMake} />}
      nameHint="Where it is: a gateway, a hall."
      first={noLimits}
      fields={({ maxDevices }, change) => (
        <NumberField
          label="Devices at most"
          hint="How many it may register. Empty: any number."
          value={maxDevices}
          onInput={(most) => change(most === undefined ? {} : { maxDevices: most })}
          min={1}
          step={1}
        />
      )}
      make={(key, limits) => {
        const body = { ...key, ...limits }
        return explained(client.call('POST /iam/provisioning-keys', { query: tenantQuery(), body }), { 403: notAll })
      }}
      use={({ key }) => (
        <>
          <p>
            A gateway links with the user name <code>{userName()}</code> and this key as its password. A simulated fleet
            does so too:
          </p>
          <Command command={fleetCommand({ key, tenant: tenantName() })} />
        </>
      )}
      remove={({ id }) => {
        const call = client.call('DELETE /iam/provisioning-keys/:id', { parameters: { id }, query: tenantQuery() })
        return explained(call, { 403: notAll })
      }}
      endsWith="its links"
      loss={({ name, devices }) =>
        `Every link that was opened with ${name} is closed at once; its ${countText(devices)} cannot come back by it. The devices stay, with their values.`
      }
    />
  )
}

function userName(): string {
  const tenant = tenantName()
  return tenant === 'default' ? '*' : `${tenant}/*`
}

function countText(devices: number): string {
  return devices === 1 ? '1 device' : `${devices} devices`
}

function NoKey({ mayMake }: { readonly mayMake: boolean }) {
  if (!mayMake) return <Empty title="There is no provisioning key">Who may make any device can make one.</Empty>
  return (
    <Empty
      title="There is no provisioning key yet"
      command={`npm run -s admin -- key add provisioning hall-3 --max-devices 200${tenantOption()}`}
    >
      With one a gateway registers devices as they come, and speaks for them. Make it above, or from the command line.
    </Empty>
  )
}
