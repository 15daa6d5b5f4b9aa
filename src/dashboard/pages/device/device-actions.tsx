import { useState } from 'preact/hooks'
import { Button } from '#dashboard/parts/button'
import { Confirm, Dialog } from '#dashboard/parts/dialog'
import { Secret } from '#dashboard/parts/secret'
import { say } from '#dashboard/parts/toasts'
import { client, mayI } from '#dashboard/session'

interface DeviceActionsProps {
  readonly identifier: string
  readonly onDeleted: () => void
}

/** What can't be taken back, for who may. */
export function DeviceActions({ identifier, onDeleted }: DeviceActionsProps) {
  const [asking, setAsking] = useState<'secret' | 'delete' | undefined>()
  const [secret, setSecret] = useState<string | undefined>()
  const where = { deviceIdentifier: identifier }
  const done = () => setAsking(undefined)
  const rotate = async () => {
    const made = await client.call('POST /devices/:deviceIdentifier/secret', { parameters: where })
    setSecret(made.secret)
  }
  const remove = async () => {
    await client.call('DELETE /devices/:deviceIdentifier', { parameters: where })
    say(`${identifier} was deleted`)
    onDeleted()
  }
  return (
    <>
      {mayI('device', 'update', where) && <Button onPress={() => setAsking('secret')}>New secret…</Button>}
      {mayI('device', 'delete', where) && (
        <Button kind="danger" onPress={() => setAsking('delete')}>
          Delete…
        </Button>
      )}
      <Confirm
        title={`A new secret for ${identifier}?`}
        confirm="Make a new secret"
        kind="primary"
        isOpen={asking === 'secret'}
        onClose={done}
        onConfirm={rotate}
      >
        <p>The old one is void at once, and the link of the device is closed: it comes back only with the new one.</p>
      </Confirm>
      <Confirm
        title={`Delete ${identifier}?`}
        confirm="Delete the device"
        isOpen={asking === 'delete'}
        onClose={done}
        onConfirm={remove}
        typed={identifier}
      >
        <p>Its values, notes and secret are removed. This can not be taken back.</p>
      </Confirm>
      <Dialog title="The new secret" isOpen={secret !== undefined} onClose={() => setSecret(undefined)}>
        <Secret label={`Secret of ${identifier}`} text={secret ?? ''} />
      </Dialog>
    </>
  )
}
