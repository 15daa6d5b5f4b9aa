import { ChoiceField, type TextFieldProps } from '#dashboard/components/fields'
import { versionProblem } from '#dashboard/components/names'

interface VersionFieldProps extends Pick<TextFieldProps, 'hint' | 'value' | 'onChange'> {
  readonly versions: readonly string[]
}

/** A version with a release, or another version, which may get its release later. */
export function VersionField({ versions, ...field }: VersionFieldProps) {
  return (
    <ChoiceField
      {...field}
      label="Version"
      options={versions.map((version) => ({ value: version, label: version }))}
      other={{ label: 'Other version', placeholder: '1.2.3', problem: versionProblem(field.value) }}
      isRequired
    />
  )
}
