import { useState } from 'preact/hooks'
import { fleetCommand } from '#dashboard/commands'
import { simulatedSchemas } from '#dashboard/pages/fleet/simulated-schemas'
import { Button } from '#dashboard/parts/button'
import { Command, Empty } from '#dashboard/parts/empty'
import { client, mayI, session } from '#dashboard/session'
import { state } from '#dashboard/state'

/** They take what they are asked for. */
const options = '--writes answer'

/** A server that is new: how to see something within a minute, and how to link what one has. */
export function NoDevices({ onAdd }: { readonly onAdd: () => void }) {
  const [key, setKey] = useState('')
  const isOff = session.value.state === 'IAM off'
  const mayAdd = mayI('device', 'create')
  const mayMake = mayI('device', 'create', { deviceIdentifier: '*' })
  const makeKey = async () => {
    await describe()
    const made = await client.call('POST /iam/provisioning-keys', { body: { name: 'Simulated fleet' } })
    setKey(made.key)
  }
  return (
    <Empty title="No devices yet">
      <p>
        A device is here from its first message on. To see how that looks, link fifty that are simulated, from the
        folder of this server:
      </p>
      {(isOff || key !== '') && (
        <Command command={fleetCommand(isOff ? { options: `${options} --schemas` } : { options, key })} />
      )}
      {!isOff && key === '' && mayMake && (
        <Button kind="primary" onPress={makeKey}>
          Make a key for them
        </Button>
      )}
      {!isOff && !mayMake && <p>For that they need a provisioning key, which an administrator can make.</p>}
      {mayAdd && (
        <>
          <p>Or begin with one of your own: it gets a name and a secret to link with.</p>
          <Button onPress={onAdd}>Add a device</Button>
        </>
      )}
    </Empty>
  )
}

/** So that values have names and units: the fleet itself may only speak for devices. */
async function describe(): Promise<void> {
  const { schemas } = state()
  const puts = [...simulatedSchemas]
    .filter(
      ([serviceIdentifier]) => !schemas.has(serviceIdentifier) && mayI('schemas', 'create', { serviceIdentifier }),
    )
    .map(([serviceIdentifier, body]) =>
      client.call('PUT /schemas/:serviceIdentifier', { parameters: { serviceIdentifier }, body }),
    )
  await Promise.all(puts)
}
