// Package config declares the targets of s3-proxy's templates.
package config

// TargetConfig has the fields of a target that templates may read.
type TargetConfig struct {
	Name   string
	Bucket *BucketConfig
	Mount  *MountConfig
}

// BucketConfig has the fields of a target's bucket that templates may read.
type BucketConfig struct {
	Name, Prefix, Region, S3Endpoint string
	S3ListMaxKeys                    int64
	DisableSSL                       bool
}

// MountConfig has the fields of a target's mount that templates may read.
type MountConfig struct {
	Host string
	Path []string
}
