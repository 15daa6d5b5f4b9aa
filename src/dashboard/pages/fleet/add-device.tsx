import { useState } from 'preact/hooks'
import { firstMessage } from '#dashboard/commands'
import { Secret } from '#dashboard/components/copy-button'
import { Dialog } from '#dashboard/components/dialog'
import { Command } from '#dashboard/components/empty-state'
import { TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { navigateTo, pathOf } from '#dashboard/components/link'
import { notify } from '#dashboard/components/toasts'
import { client } from '#dashboard/session'

/** Creates a device before its first contact, and shows its secret once. */
export function AddDevice({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog title="Add device" isOpen={isOpen} onClose={onClose}>
      <AddDeviceForm onClose={onClose} />
    </Dialog>
  )
}

interface CreatedDevice {
  readonly deviceIdentifier: string
  readonly secret: string
}

function AddDeviceForm({ onClose }: { readonly onClose: () => void }) {
  const [identifier, setIdentifier] = useState('')
  const [created, setCreated] = useState<CreatedDevice>()
  if (created) {
    return (
      <Form
        submit="Open device"
        onSubmit={() => {
          onClose()
          navigateTo(pathOf('devices', created.deviceIdentifier))
        }}
      >
        <Secret label={`Secret of ${created.deviceIdentifier}`} text={created.secret} />
        <p>To send its first message by hand:</p>
        <Command command={firstMessage(created.deviceIdentifier, created.secret)} />
      </Form>
    )
  }
  return (
    <Form
      submit="Add"
      onCancel={onClose}
      isDisabled={identifier.trim() === ''}
      onSubmit={async () => {
        const device = await client.call('POST /devices', { body: { deviceIdentifier: identifier.trim() } })
        setCreated(device)
        notify(`${device.deviceIdentifier} was added`)
      }}
    >
      <TextField
        label="Identifier"
        hint="Letters, digits, - and =; stored in upper case. The device connects with this name."
        value={identifier}
        onInput={setIdentifier}
        path="deviceIdentifier"
        autocomplete="off"
        maxLength={64}
        isCode
        hasFocus
      />
    </Form>
  )
}
