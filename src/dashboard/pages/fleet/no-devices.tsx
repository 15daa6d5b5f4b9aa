import { useState } from 'preact/hooks'
import { Button } from '#dashboard/parts/button'
import { Command, Empty } from '#dashboard/parts/empty'
import { client, mayI, session } from '#dashboard/session'

/** A server that is new: how to see something within a minute, and how to link what one has. */
export function NoDevices({ onAdd }: { readonly onAdd: () => void }) {
  const [key, setKey] = useState('')
  const isOff = session.value.state === 'IAM off'
  const mayMake = mayI('device', 'create')
  const makeKey = async () => {
    const made = await client.call('POST /iam/provisioning-keys', { body: { name: 'Simulated fleet' } })
    setKey(made.key)
  }
  return (
    <Empty title="No devices yet">
      <p>
        A device is here from its first message on. To see how that looks, link fifty that are simulated, from the
        folder of this server:
      </p>
      {(isOff || key !== '') && <Command command={fleetCommand(key)} />}
      {!isOff && key === '' && mayMake && (
        <Button kind="primary" onPress={makeKey}>
          Make a key for them
        </Button>
      )}
      {!isOff && !mayMake && <p>For that they need a provisioning key, which an administrator can make.</p>}
      {mayMake && (
        <>
          <p>Or begin with one of your own: it gets a name and a secret to link with.</p>
          <Button onPress={onAdd}>Add a device</Button>
        </>
      )}
    </Empty>
  )
}

function fleetCommand(key: string): string {
  const url = location.origin.replace(/^http/, 'ws')
  const whose = key === '' ? '--schemas' : `--key ${key}`
  return `npm run fleet -- --url ${url} --devices 50 --rate 100 --writes answer ${whose}`
}
