import { useState } from 'preact/hooks'
import type { Answer } from '#client/client'
import { firstMessage } from '#dashboard/commands'
import { Command, Secret } from '#dashboard/components/copy-button'
import { Dialog } from '#dashboard/components/dialog'
import { TextField, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { navigateTo, pathOf } from '#dashboard/components/link'
import { notify } from '#dashboard/components/toasts'
import { client } from '#dashboard/session'

/** Creates a device before its first contact, and shows its secret once. */
export function AddDevice({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  return (
    <Dialog title="Add device" isOpen={isOpen} onClose={onClose}>
      <AddDeviceForm />
    </Dialog>
  )
}

function AddDeviceForm() {
  const identifier = useField('')
  const [created, setCreated] = useState<Answer<'POST /devices'>>()
  if (created) {
    const { deviceIdentifier, secret } = created
    return (
      <Form submit="Open device" onSubmit={() => navigateTo(pathOf('devices', deviceIdentifier))} onCancel={false}>
        <Secret label={`Secret of ${deviceIdentifier}`} text={secret} />
        <p>To send its first message by hand:</p>
        <Command command={firstMessage(deviceIdentifier, secret)} />
      </Form>
    )
  }
  const add = async () => {
    const device = await client.call('POST /devices', { body: { deviceIdentifier: identifier.value.trim() } })
    setCreated(device)
    notify(`${device.deviceIdentifier} is added`)
    return false
  }
  return (
    <Form submit="Add" isDisabled={identifier.value.trim() === ''} onSubmit={add}>
      <TextField
        label="Identifier"
        hint="Letters, digits, - and =; stored in upper case. The device connects with this name."
        {...identifier}
        path="deviceIdentifier"
        autocomplete="off"
        maxLength={64}
        isCode
        hasFocus
      />
    </Form>
  )
}
