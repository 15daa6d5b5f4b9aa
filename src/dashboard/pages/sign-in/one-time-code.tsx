import { TextField } from '#dashboard/parts/fields'

export interface OneTimeCodeProps {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly label?: string
}

/** Six digits from an app; spaces are ignored. */
export function OneTimeCode({ value, onInput, label = 'Code from the app' }: OneTimeCodeProps) {
  return (
    <TextField
      label={label}
      hint="Six digits; a code works once, for half a minute."
      value={value}
      onInput={(text) => onInput(text.replace(/\D/g, '').slice(0, 6))}
      autocomplete="one-time-code"
      inputMode="numeric"
      isCode
      hasFocus
    />
  )
}
